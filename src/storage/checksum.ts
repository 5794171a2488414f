import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'

/** Read at once: fewer reads of a store of hundreds of GB. */
const READ_BYTES = 1024 ** 2

/** The SHA-256 of a file in hexadecimal. Reports the bytes that were read. */
export const sha256OfFile = async (
  file: string,
  onBytes: (bytes: number) => void,
): Promise<string> => {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of createReadStream(file, { highWaterMark: READ_BYTES })) {
    hash.update(chunk as Buffer)
    bytes += (chunk as Buffer).length
    onBytes(bytes)
  }
  return hash.digest('hex')
}
