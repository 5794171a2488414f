import type { Upstream } from '../../upstream/client.js'
import { UpstreamFailure } from '../../upstream/errors.js'
import type { Answers, LanderRequest } from '../link/messages.js'
import type { MayStart } from '../relay/relay-types.js'
import type { LanderRoute } from '../store/submission.js'
import type { Options } from './options.js'
import { LanderRecord, type LanderRecordParts } from './records.js'

const JSON_HEADERS = { 'content-type': 'application/json' }

/** Where the body of each route goes. */
const ROUTES = {
  '/lander': { path: 'transactionPath', headers: JSON_HEADERS },
  '/lander-submit-bundle': { path: 'bundlePath', headers: JSON_HEADERS },
  '/lander-submit-batch': {
    path: 'batchPath',
    headers: { 'content-type': 'application/octet-stream' },
  },
} as const satisfies Record<LanderRoute, object>

export type ForwarderParts = LanderRecordParts & {
  readonly upstream: Pick<Upstream, 'send'>
}

export type ForwardEvents = {
  /** Gets the record of a request that is forwarded, which waits for what follows it. */
  readonly onRecord: (record: LanderRecord) => void
  readonly onSent: () => void
}

/** Forwards the requests of one network's lander routes, byte for byte, and records them. */
export class LanderForwarder {
  private readonly options: Pick<Options, 'transactionPath' | 'bundlePath' | 'batchPath'>
  private readonly parts: ForwarderParts

  constructor(options: LanderForwarder['options'], parts: ForwarderParts) {
    this.options = options
    this.parts = parts
  }

  async forward(
    request: LanderRequest,
    mayStart: MayStart,
    { onRecord, onSent }: ForwardEvents,
  ): Promise<Answers['forward']> {
    const record = new LanderRecord(this.parts, request)
    onRecord(record)
    const may = mayStart(request.version)
    if (!(may === true || (await may))) return 'ended'
    const { path, headers } = ROUTES[request.route]
    const answer = await this.parts.upstream
      .send({
        method: 'POST',
        path: this.options[path],
        headers,
        body: request.body,
        onWritten: () => {
          record.onSent()
          // After the bytes of the request, which are written in this turn of the event loop.
          setImmediate(onSent)
        },
      })
      .catch((failure: unknown) => {
        if (failure instanceof UpstreamFailure) return failure.kind
        throw failure
      })
    record.onAnswered(answer)
    return answer
  }
}
