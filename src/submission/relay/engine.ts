import { RpcError } from '../../shared/errors.js'
import type { Reply } from '../../shared/http.js'
import type { Id } from '../../shared/jsonrpc.js'
import { BUNDLE_FORMS } from './bundle.js'
import { readEngineAnswer, type EngineAnswer } from './engine-answer.js'
import type { RelayModules, RelayOptions } from './relay-types.js'
import { HeldBack, UpstreamFailure } from '../../upstream/errors.js'

const HEADERS = { 'content-type': 'application/json', accept: 'application/json' }

/** How a submission ends that has no answer, by why there is none. */
const FAILED = { unreachable: 'unreachable', full: 'full', silent: 'unknown' } as const

const bytes = (text: string): Uint8Array => Buffer.from(text)

/**
 * Sends what was prepared. Never rejects: what went wrong is how the submission ended. `mayWrite`
 * is asked in the turn of the loop in which the first byte would be written, at most once; where it
 * says no, nothing is sent, and the answer is undefined.
 */
export type SendPrepared = {
  (): Promise<EngineAnswer>
  (mayWrite: () => boolean): Promise<EngineAnswer | undefined>
}

/**
 * The bundle engine of one route. What it is sent is made here, of what was checked and nothing
 * else.
 */
export type Engine = {
  /**
   * Makes what is sent of a bundle, of which all but the signatures is right, while those are
   * looked at elsewhere: `list` has its transactions as JSON texts with commas between them, and is
   * not kept.
   */
  prepareBundle(list: Uint8Array): SendPrepared
  /** Whether what is sent now finds a connection open and free. */
  isWarm(): boolean
  /**
   * Asks about bundles, and answers what the engine does. Throws RpcErrors where it answers
   * nothing.
   */
  askStatuses(method: string, bundleIds: readonly string[], id: Id): Promise<Reply>
}

export const createEngine = (
  { route, path }: Pick<RelayOptions, 'route' | 'path'>,
  { upstream, log }: Pick<RelayModules, 'upstream' | 'log'>,
): Engine => {
  const post = (body: Uint8Array, mayWrite?: () => boolean) =>
    upstream.send({
      method: 'POST',
      path,
      headers: HEADERS,
      body,
      ...(mayWrite !== undefined && { mayWrite }),
    })
  const head = bytes('{"jsonrpc":"2.0","id":1,"method":"sendBundle","params":[[')
  const tail = bytes(`],${BUNDLE_FORMS[route].optionsJson}]}`)

  return {
    prepareBundle: list => {
      const body = Buffer.concat([head, list, tail])
      return (async (mayWrite?: () => boolean) => {
        try {
          return readEngineAnswer(await post(body, mayWrite))
        } catch (failure) {
          if (failure instanceof HeldBack) return undefined
          const isExpected = failure instanceof UpstreamFailure
          if (!isExpected) log.error({ err: failure, route }, 'a bundle may not have been sent')
          const outcome = isExpected ? FAILED[failure.kind] : 'unknown'
          return { outcome, result: null, error: null, engine: null }
        }
      }) as SendPrepared
    },
    isWarm: () => upstream.isWarm(),
    askStatuses: async (method, bundleIds, id) => {
      const params = JSON.stringify([bundleIds])
      try {
        const { status, contentType, headers, body } = await post(
          bytes(`{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`),
        )
        return { status, contentType, body, ...(headers !== undefined && { headers }) }
      } catch (failure) {
        if (!(failure instanceof UpstreamFailure)) throw failure
        if (failure.kind === 'full') throw new RpcError('engineFull')
        throw new RpcError(failure.kind === 'silent' ? 'engineSilent' : 'upstreamUnreachable')
      }
    },
  }
}
