/** Characters of the text of `byteCount` bytes, padding included. */
export const base64Chars = (byteCount: number): number => Math.ceil(byteCount / 3) * 4

/**
 * How many bytes a text encodes; undefined where it is not the one canonical text of any bytes.
 * Node's decoder accepts nearly any text.
 */
export const canonicalBase64Bytes = (text: string): number | undefined => {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes.byteLength : undefined
}
