const QUOTE = 0x22
const BACKSLASH = 0x5c

/**
 * The elements of a JSON array of objects as the bytes that came, in order: views of `body`, which
 * must have been parsed already.
 */
export const rawElements = (body: Uint8Array): Uint8Array[] => {
  const elements: Uint8Array[] = []
  let depth = 0
  let start = 0
  for (let index = 0; index < body.length; index++)
    switch (body[index]) {
      case QUOTE:
        for (index++; index < body.length && body[index] !== QUOTE; index++)
          if (body[index] === BACKSLASH) index++
        break
      case 0x5b: // [
      case 0x7b: // {
        if (++depth === 2) start = index
        break
      case 0x5d: // ]
      case 0x7d: // }
        if (depth-- === 2) elements.push(body.subarray(start, index + 1))
    }
  return elements
}
