import { openNamedUpstream } from '../../upstream/named-upstream.js'
import { UpstreamFailure } from '../../upstream/errors.js'
import type { LanderAnswer } from '../lander/answer.js'
import { readSendAnswer } from '../lander/send-answer.js'
import type { Lane, LaneConfig, LaneEnd, LaneParts, SignedTransaction } from './lane.js'
import { createToWords } from './words.js'

/** How a kind writes a transaction as a request. */
export type HttpForm = {
  readonly contentType: string
  readonly toBody: (transaction: SignedTransaction) => Uint8Array
  /** The answer may be any text, or empty: its status counts. */
  readonly isBinary: boolean
}

/** Why there is no answer, for the record. */
const WITHOUT_ANSWER = {
  unreachable: 'no connection',
  'no-response': 'no whole answer',
  full: 'too many in flight',
} as const satisfies Record<UpstreamFailure['kind'], string>

/** A lane over warm HTTP connections, as every upstream of submissions has them. */
export const openHttpLane = async (
  config: LaneConfig,
  { contentType, isBinary, toBody }: HttpForm,
  { network, ...modules }: LaneParts,
): Promise<Lane> => {
  const url = new URL(config.url)
  const toWords = createToWords(config.credential, url)
  const { credential, credentialIn, credentialName, pingPath, ...bounds } = config
  const upstream = await openNamedUpstream(
    { ...bounds, credential, credentialIn, credentialName, pingPath, urls: [url.origin] },
    { network, name: `lane ${config.id}` },
    modules,
  )
  const path = url.pathname + url.search
  const headers = { 'content-type': contentType }
  const toEnd = async (
    answer: LanderAnswer,
    signature: string,
    writtenMs: number | null,
  ): Promise<LaneEnd> => {
    const { engine, outcome, result } = readSendAnswer(answer, { isBinary, signature })
    const said = typeof answer === 'string' ? WITHOUT_ANSWER[answer] : (engine?.words ?? '')
    return {
      outcome: outcome === 'pending' || outcome === 'invalid' ? 'unknown' : outcome,
      writtenMs,
      hasSignature: outcome === 'accepted' && (result?.includes(signature) ?? false),
      status: engine?.status ?? null,
      words: await toWords(said),
    }
  }
  return {
    // One that has failed recently is tried: it takes none of the others' time.
    isDown: () => false,
    isReachable: () => upstream.isReachable(),
    send: async transaction => {
      let writtenMs: number | null = null
      const answer = await upstream
        .send({
          method: 'POST',
          path,
          headers,
          body: toBody(transaction),
          onWritten: () => {
            writtenMs = modules.now()
          },
        })
        .catch((failure: unknown) => {
          if (failure instanceof UpstreamFailure) return failure.kind
          throw failure
        })
      return toEnd(answer, transaction.signature, writtenMs)
    },
    inFlight: () => upstream.inFlight(),
    close: () => upstream.close(),
  }
}
