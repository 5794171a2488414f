import { readSendAnswer } from '../lander/send-answer.js'
import type { LaneConfig, LaneEnd, SignedTransaction } from './lane.js'
import { presetOf } from './presets.js'
import { walletOf } from './quic-tpu.js'
import type { QuicForm } from './quic.js'

/** Version, flags, status and length of the text. */
const HEAD_BYTES = 6
const VERSION = 1
const TEXT_BYTES_MAX = 1_024

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The text of an answer; undefined where it is not valid. */
const decode = (bytes: Uint8Array): string | undefined => {
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}

type Frame = { readonly status: number; readonly text: string }

/** The frame of an answer, or what is wrong with it. */
export const parseFrame = (answer: Uint8Array): Frame | string => {
  const bytes = Buffer.from(answer.buffer, answer.byteOffset, answer.byteLength)
  if (bytes.length < HEAD_BYTES) return 'too short'
  if (bytes[0] !== VERSION) return `version ${bytes[0]}`
  if (bytes[1] !== 0) return `flags ${bytes[1]}`
  const length = bytes.readUInt16BE(4)
  if (length > TEXT_BYTES_MAX || bytes.length !== HEAD_BYTES + length)
    return `${bytes.length - HEAD_BYTES} bytes of text, where it says ${length}`
  const text = decode(bytes.subarray(HEAD_BYTES))
  return text === undefined ? 'no UTF-8' : { status: bytes.readUInt16BE(2), text }
}

const readAnswer = (
  answer: Uint8Array,
  { signature }: SignedTransaction,
): Pick<LaneEnd, 'outcome' | 'hasSignature' | 'status' | 'words'> => {
  const frame = parseFrame(answer)
  if (typeof frame === 'string') {
    const words = `the answer is no frame: ${frame}`
    return { outcome: 'unknown', hasSignature: false, status: null, words }
  }
  const { status, text } = frame
  // A status and a text, as a route that takes bytes answers them.
  const reply = { status, contentType: '', headers: undefined, body: Buffer.from(text) }
  const { outcome } = readSendAnswer(reply, { isBinary: true, signature })
  return {
    outcome: outcome === 'pending' || outcome === 'invalid' ? 'unknown' : outcome,
    hasSignature: outcome === 'accepted' && text === signature,
    status,
    words: text,
  }
}

/** The key of the service in a client certificate, and answers as Lunar Lander frames them. */
export const toQuicFrame = ({ credential = '', isProtected, preset }: LaneConfig): QuicForm => ({
  identity: {
    // Of a keypair nothing but the public key may leave this machine.
    key: presetOf(preset)?.isWallet === true ? (walletOf(credential) ?? '') : credential,
    isProtected,
  },
  readAnswer,
  answerBytesMax: HEAD_BYTES + TEXT_BYTES_MAX,
})
