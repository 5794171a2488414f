import type { Upstream } from '../../upstream/client.js'
import { UpstreamFailure } from '../../upstream/errors.js'
import type { Answers, LanderRequest } from '../link/messages.js'
import type { MayStart } from '../relay/relay-types.js'
import { isTransactionRoute, type LanderRoute, type TransactionRoute } from '../store/submission.js'
import { readLanderAnswer, type LanderAnswer } from './answer.js'
import type { Options } from './options.js'
import { LanderRecord } from './records.js'
import { readSendAnswer } from './send-answer.js'
import { sendOnce, type OnceParts } from './send-once.js'

const JSON_HEADERS = { 'content-type': 'application/json' }
const BYTES_HEADERS = { 'content-type': 'application/octet-stream' }

/** Where the body of each route goes. */
const ROUTES = {
  '/lander': { path: 'transactionPath', headers: JSON_HEADERS },
  '/lander-submit-bundle': { path: 'bundlePath', headers: JSON_HEADERS },
  '/lander-submit-batch': {
    path: 'batchPath',
    headers: BYTES_HEADERS,
  },
} as const satisfies Record<Exclude<LanderRoute, TransactionRoute>, object>

/** The call of one transaction. */
const toCall = (transaction: Uint8Array): Buffer => {
  const { buffer, byteOffset, byteLength } = transaction
  const text = Buffer.from(buffer, byteOffset, byteLength).toString('base64')
  const params = `["${text}",{"encoding":"base64"}]`
  return Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"sendTransaction","params":${params}}`)
}

/** What the upstream is sent. */
type Call = {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

export type ForwarderParts = OnceParts & { readonly upstream: Pick<Upstream, 'send'> }

export type ForwardEvents = {
  /** Gets the record of a request that is forwarded, which waits for what follows it. */
  readonly onRecord: (record: LanderRecord) => void
  readonly onSent: () => void
}

type Paths = Pick<Options, 'transactionPath' | 'bundlePath' | 'batchPath' | 'binaryPath'>

/** Forwards the requests of one network's lander routes, byte for byte, and records them. */
export class LanderForwarder {
  private readonly options: Paths
  private readonly parts: ForwarderParts

  constructor(options: Paths, parts: ForwarderParts) {
    this.options = options
    this.parts = parts
  }

  async forward(
    request: LanderRequest,
    mayStart: MayStart,
    events: ForwardEvents,
  ): Promise<Answers['forward']> {
    const { route } = request
    if (isTransactionRoute(route)) return this.forwardTransaction(request, mayStart, events)
    const record = new LanderRecord(this.parts, request)
    events.onRecord(record)
    const may = mayStart(request.version)
    if (!(may === true || (await may))) return 'ended'
    const { path, headers } = ROUTES[route]
    const call = { path: this.options[path], headers, body: request.body }
    const answer = await this.send(call, record, events)
    record.onAnswered(() => readLanderAnswer(route, answer))
    return answer
  }

  private forwardTransaction(
    request: LanderRequest,
    mayStart: MayStart,
    events: ForwardEvents,
  ): Promise<Answers['forward']> {
    const { body, signature = '' } = request
    const isBinary = this.options.binaryPath !== ''
    const call: Call = isBinary
      ? { path: this.options.binaryPath, headers: BYTES_HEADERS, body }
      : { path: this.options.transactionPath, headers: JSON_HEADERS, body: toCall(body) }
    return sendOnce(request, { ...this.parts, ...events, mayStart }, async record =>
      readSendAnswer(await this.send(call, record, events), { isBinary, signature }),
    )
  }

  private async send(
    call: Call,
    record: LanderRecord,
    { onSent }: ForwardEvents,
  ): Promise<LanderAnswer> {
    let toldSent: NodeJS.Immediate | undefined
    const answer = await this.parts.upstream
      .send({
        method: 'POST',
        ...call,
        onWritten: () => {
          record.onSent()
          // After the bytes of the request, which are written in this turn of the event loop.
          toldSent = setImmediate(() => {
            toldSent = undefined
            onSent()
          })
        },
      })
      .catch((failure: unknown) => {
        if (failure instanceof UpstreamFailure) return failure.kind
        throw failure
      })
    // An answer that has come in the same turn.
    if (toldSent !== undefined) {
      clearImmediate(toldSent)
      onSent()
    }
    return answer
  }
}
