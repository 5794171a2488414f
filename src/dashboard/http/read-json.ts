import type { IncomingMessage } from 'node:http'
import { RpcError } from '../../shared/errors.js'

const isJsonType = (type: string): boolean => /^application\/json\s*(;|$)/i.test(type)

/**
 * Reads a JSON body; undefined if it is empty. Rejects with an RpcError if it is not JSON or too
 * long.
 */
export const readJson = async (request: IncomingMessage, bytesMax: number): Promise<unknown> => {
  if (Number(request.headers['content-length'] ?? 0) > bytesMax)
    throw new RpcError('bodyTooLarge', { max: bytesMax })
  const chunks: Buffer[] = []
  let byteCount = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    byteCount += chunk.length
    if (byteCount > bytesMax) throw new RpcError('bodyTooLarge', { max: bytesMax })
    chunks.push(chunk)
  }
  if (byteCount === 0) return undefined
  if (!isJsonType(request.headers['content-type'] ?? ''))
    throw new RpcError('contentType', { type: 'application/json' })
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks)))
  } catch {
    throw new RpcError('badRequest')
  }
}
