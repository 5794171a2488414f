import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  END,
  JsonScanner,
  OPEN_ARRAY,
  OPEN_OBJECT,
} from '../shared/json-scanner.js'

/**
 * The elements of a JSON array of objects as the received bytes, in order: views of `body`, which
 * must have been parsed already.
 */
export const rawElements = (body: Uint8Array): Uint8Array[] => {
  const elements: Uint8Array[] = []
  // One character for each byte, so that positions are those of the body.
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('latin1')
  const scanner = new JsonScanner(text)
  let start = 0
  for (let token = scanner.next(); token !== END; token = scanner.next()) {
    const { index, depth } = scanner
    if ((token === OPEN_ARRAY || token === OPEN_OBJECT) && depth === 2) start = index
    else if ((token === CLOSE_ARRAY || token === CLOSE_OBJECT) && depth === 1)
      elements.push(body.subarray(start, index + 1))
  }
  return elements
}
