import { decodeBase58 } from '../../native/transactions.js'
import { RpcError } from '../../shared/errors.js'
import { checkTransaction, LANDER_TRANSACTION_BYTES_MAX } from './params.js'

/** How the body of `/send` has its transaction. */
export const SEND_ENCODINGS = ['bytes', 'base64', 'base58'] as const
export type SendEncoding = (typeof SEND_ENCODINGS)[number]

/** The largest transaction before version 1. */
const PACKET_BYTES_MAX = 1_232
const VERSION_1 = 0x81
/** Of 1,232 bytes, and one more: longer texts are not decoded. */
const BASE58_CHARS_MAX = 1_684

/** A text without the line break at its end, which many tools add. */
const withoutLineBreak = (body: Uint8Array): Uint8Array => {
  const end = body.at(-1) === 0x0a ? body.length - 1 : body.length
  return body.subarray(0, end < body.length && body[end - 1] === 0x0d ? end - 1 : end)
}

const decodeBase64 = (body: Uint8Array): Uint8Array => {
  const text = Buffer.from(withoutLineBreak(body)).toString('latin1')
  checkTransaction(text, 0)
  return Buffer.from(text, 'base64')
}

/** As with nodes, a text in base58 has the size of a packet at most: decoding takes n². */
const decodePlainBase58 = (body: Uint8Array): Uint8Array => {
  const text = withoutLineBreak(body)
  const isTooLong = text.length > BASE58_CHARS_MAX
  const bytes = isTooLong ? undefined : decodeBase58(text, PACKET_BYTES_MAX + 1)
  if (isTooLong || (bytes !== undefined && bytes.length > PACKET_BYTES_MAX))
    throw new RpcError('transactionSize', { index: 0, max: PACKET_BYTES_MAX })
  if (bytes === undefined) throw new RpcError('transactionBase58', { index: 0 })
  return bytes
}

const DECODERS: Readonly<Record<SendEncoding, (body: Uint8Array) => Uint8Array>> = {
  bytes: body => body,
  base64: decodeBase64,
  base58: decodePlainBase58,
}

/** The bytes of a transaction, which may be those of the body. Throws RpcErrors. */
export const toTransaction = (body: Uint8Array, encoding: SendEncoding): Uint8Array => {
  const transaction = DECODERS[encoding](body)
  const max = transaction[0] === VERSION_1 ? LANDER_TRANSACTION_BYTES_MAX : PACKET_BYTES_MAX
  if (transaction.length > max) throw new RpcError('transactionSize', { index: 0, max })
  return transaction
}
