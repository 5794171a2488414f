import { RpcError } from '../../shared/errors.js'
import type { Reply } from '../../shared/http.js'
import { isMap, parseJson } from '../../shared/values.js'

/** The first byte of an answer (contract: binary-frames). */
const ANSWERS = { accepted: 0, refused: 1, overLimit: 2, notSent: 3, unknown: 4 } as const

const SIGNATURE_BYTES = 64
const VERSION_1 = 0x81

const toAnswer = (status: number): number => {
  if (status === 429) return ANSWERS.overLimit
  if (status === 502 || status === 503) return ANSWERS.notSent
  return status === 504 ? ANSWERS.unknown : ANSWERS.refused
}

/** An answer with the code of an error, or the status of one that has no code. */
const errorFrame = (answer: number, code: number): Uint8Array => {
  const frame = Buffer.alloc(5)
  frame.writeUInt8(answer)
  frame.writeInt32BE(code, 1)
  return frame
}

const codeOf = ({ body, status }: Reply): number => {
  const parsed = typeof body === 'string' ? parseJson(body) : undefined
  const error = isMap(parsed) ? parsed['error'] : undefined
  const code = isMap(error) ? error['code'] : undefined
  return typeof code === 'number' && code === (code | 0) ? code : status
}

/** A copy of the first signature of a transaction whose layout is known to be right. */
const signatureOf = (transaction: Uint8Array): Uint8Array => {
  const [first, signers = 0] = transaction
  const start = first === VERSION_1 ? transaction.length - signers * SIGNATURE_BYTES : 1
  return Uint8Array.prototype.slice.call(transaction, start, start + SIGNATURE_BYTES)
}

/** The answer to a frame that was refused before its transaction was looked at. */
const toRefusedFrame = ({ name, row }: RpcError): Uint8Array =>
  errorFrame(
    name === 'overloaded' ? ANSWERS.notSent : ANSWERS.overLimit,
    row.code ?? row.status ?? 0,
  )

/** The reply of `/send` as the answer to a frame. */
const toFrame = (reply: Reply, signature: Uint8Array): Uint8Array =>
  reply.status === 200
    ? Buffer.concat([Buffer.of(ANSWERS.accepted), signature])
    : errorFrame(toAnswer(reply.status), codeOf(reply))

/** The place of a frame among those that wait for their answers. */
type Place = { answer: Uint8Array | undefined }

/** True for a binary message that is no JSON-RPC: neither letter begins a transaction. */
export const isTransaction = (body: Uint8Array): boolean => {
  const [first] = body
  return first !== 0x7b && first !== 0x5b
}

/** The transactions of one WebSocket that came as bytes. They are answered in their order. */
export class TransactionFrames {
  private readonly send: (frame: Uint8Array) => void
  private places: Place[] = []

  /** `send` is called for each answer, once those before it were sent. */
  constructor(send: (frame: Uint8Array) => void) {
    this.send = send
  }

  /** Frames without an answer, and answers that wait for them. */
  get size(): number {
    return this.places.length
  }

  /** Answers a frame that was refused. */
  refuse(error: RpcError): void {
    this.places.push({ answer: toRefusedFrame(error) })
    this.flush()
  }

  /** Submits a frame, and answers it in its turn. Rejects as the submission does. */
  async add(body: Uint8Array, submit: () => Reply | Promise<Reply>): Promise<void> {
    const place: Place = { answer: undefined }
    this.places.push(place)
    const signature = signatureOf(body)
    const reply = submit()
    place.answer = toFrame(reply instanceof Promise ? await reply : reply, signature)
    this.flush()
  }

  private flush(): void {
    let count = 0
    for (const { answer } of this.places) {
      if (answer === undefined) break
      count++
      this.send(answer)
    }
    if (count > 0) this.places = this.places.slice(count)
  }
}
