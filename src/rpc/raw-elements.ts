import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COMMA,
  END,
  JsonScanner,
  OPEN_ARRAY,
  OPEN_OBJECT,
} from '../shared/json-scanner.js'

const NO_BYTES = new Uint8Array(0)

/**
 * The elements of a JSON array that has any, as the received bytes, in order: views of `body`,
 * which must have been parsed already. Empty for an element that is neither an object nor an array.
 */
export const rawElements = (body: Uint8Array): Uint8Array[] => {
  const elements: Uint8Array[] = []
  // One character for each byte, so that positions are those of the body.
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('latin1')
  const scanner = new JsonScanner(text)
  let start = 0
  let element: Uint8Array = NO_BYTES
  for (let token = scanner.next(); token !== END; token = scanner.next()) {
    const { index, depth } = scanner
    const isOpen = token === OPEN_ARRAY || token === OPEN_OBJECT
    const isClose = token === CLOSE_ARRAY || token === CLOSE_OBJECT
    if (isOpen && depth === 2) start = index
    else if (isClose && depth === 1) element = body.subarray(start, index + 1)
    else if ((token === COMMA && depth === 1) || (isClose && depth === 0)) {
      elements.push(element)
      element = NO_BYTES
    }
  }
  return elements
}
