import { readSendAnswer } from '../lander/send-answer.js'
import type { LaneEnd, SignedTransaction } from './lane.js'

/** What the answer on a stream came to. */
type Read = Pick<LaneEnd, 'outcome' | 'hasSignature' | 'status' | 'words'>

/** How the streams of a sender are answered. */
export type QuicAnswers = {
  readonly bytesMax: number
  /** Bytes of the head of an answer; 0 for one that ends with its stream. */
  readonly headBytes: number
  /** The last bytes of the head that are the length of the rest; 0 where nothing follows. */
  readonly lengthBytes: number
  readonly read: (answer: Uint8Array, transaction: SignedTransaction) => Read
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The text of an answer; undefined where it is not valid. */
const decode = (bytes: Uint8Array): string | undefined => {
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}

const unknown = (words: string): Read => ({
  ...{ outcome: 'unknown', hasSignature: false, status: null },
  words: `the answer is no frame: ${words}`,
})

type Frame = { readonly status: number; readonly text: string }

/** A status and a text, read as a route that takes bytes answers them. */
const readFrame = (frame: Frame | string, { signature }: SignedTransaction): Read => {
  if (typeof frame === 'string') return unknown(frame)
  const { status, text } = frame
  const reply = { status, contentType: '', headers: undefined, body: Buffer.from(text) }
  const { outcome } = readSendAnswer(reply, { isBinary: true, signature })
  return {
    outcome: outcome === 'pending' || outcome === 'invalid' ? 'unknown' : outcome,
    hasSignature: outcome === 'accepted' && text === signature,
    status,
    words: text,
  }
}

const bufferOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength)

/** Version, flags, status and length of the text. */
const HEAD_BYTES = 6
const VERSION = 1
const TEXT_BYTES_MAX = 1_024

/** The frame of an answer of Lunar Lander, or what is wrong with it. */
export const parseFrame = (answer: Uint8Array): Frame | string => {
  const bytes = bufferOf(answer)
  if (bytes.length < HEAD_BYTES) return 'too short'
  if (bytes[0] !== VERSION) return `version ${bytes[0]}`
  if (bytes[1] !== 0) return `flags ${bytes[1]}`
  const length = bytes.readUInt16BE(4)
  if (length > TEXT_BYTES_MAX || bytes.length !== HEAD_BYTES + length)
    return `${bytes.length - HEAD_BYTES} bytes of text, where it says ${length}`
  const text = decode(bytes.subarray(HEAD_BYTES))
  return text === undefined ? 'no UTF-8' : { status: bytes.readUInt16BE(2), text }
}

export const LUNAR_LANDER_ANSWERS: QuicAnswers = {
  bytesMax: HEAD_BYTES + TEXT_BYTES_MAX,
  headBytes: 0,
  lengthBytes: 0,
  read: (answer, transaction) => readFrame(parseFrame(answer), transaction),
}

/** Status and length of the text. Node1's published client takes texts of 64 KiB. */
const NODE1_HEAD_BYTES = 6
const NODE1_TEXT_BYTES_MAX = 64 * 1_024

export const NODE1_ANSWERS: QuicAnswers = {
  bytesMax: NODE1_HEAD_BYTES + NODE1_TEXT_BYTES_MAX,
  headBytes: NODE1_HEAD_BYTES,
  lengthBytes: 4,
  read: (answer, transaction) => {
    const bytes = bufferOf(answer)
    const text = decode(bytes.subarray(NODE1_HEAD_BYTES))
    const frame = text === undefined ? 'no UTF-8' : { status: bytes.readUInt16BE(0), text }
    return readFrame(frame, transaction)
  },
}

/** What the second byte of Falcon means; that of the first one is not public. */
const FALCON_CODES = [
  'accepted',
  'rate limit',
  'unsigned',
  'missing tip',
  'not decodable',
  'too large',
  'not forwarded',
  'wrong number of signatures',
] as const
const FALCON_ACCEPTED = 0
const FALCON_LIMITED = 1

export const FALCON_ANSWERS: QuicAnswers = {
  bytesMax: 2,
  headBytes: 2,
  lengthBytes: 0,
  read: ([, code = NaN]) => {
    const words = FALCON_CODES[code]
    if (words === undefined) return unknown(`code ${code}`)
    const refused = code === FALCON_LIMITED ? 'full' : 'refused'
    const outcome = code === FALCON_ACCEPTED ? 'accepted' : refused
    return { outcome, hasSignature: false, status: code, words }
  },
}
