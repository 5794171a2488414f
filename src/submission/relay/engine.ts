import type { Id } from '../../shared/jsonrpc.js'
import { BUNDLE_FORMS } from './bundle.js'
import { readEngineAnswer, type EngineAnswer } from './engine-answer.js'
import type { SendModules, SendOptions } from './relay-types.js'
import { UpstreamFailure } from '../../upstream/errors.js'
import type { UpstreamReply } from '../../upstream/reply.js'

const HEADERS = { 'content-type': 'application/json', accept: 'application/json' }

/** How a submission ends that has no answer, by why there is none. */
const FAILED = { unreachable: 'unreachable', full: 'full', 'no-response': 'unknown' } as const

/** The bundle engine of one route. Its requests contain only what was checked. */
export type Engine = {
  /** Never rejects: a failure is an outcome. */
  sendBundle(transactions: readonly string[]): Promise<EngineAnswer>
  /** Asks about bundles and returns the engine's answer. Rejects with an UpstreamFailure. */
  askStatuses(method: string, bundleIds: readonly string[], id: Id): Promise<UpstreamReply>
}

export const createEngine = (
  { route, path }: Pick<SendOptions, 'route' | 'path'>,
  { upstream, log }: Pick<SendModules, 'upstream' | 'log'>,
): Engine => {
  const post = (body: string) =>
    upstream.send({ method: 'POST', path, headers: HEADERS, body: Buffer.from(body) })

  return {
    sendBundle: async transactions => {
      const params = JSON.stringify([transactions, BUNDLE_FORMS[route].options])
      const body = `{"jsonrpc":"2.0","id":1,"method":"sendBundle","params":${params}}`
      try {
        return readEngineAnswer(await post(body))
      } catch (failure) {
        const isExpected = failure instanceof UpstreamFailure
        if (!isExpected) log.error({ err: failure, route }, 'a bundle may not have been sent')
        const outcome = isExpected ? FAILED[failure.kind] : 'unknown'
        return { outcome, result: null, error: null, engine: null }
      }
    },
    askStatuses: (method, bundleIds, id) => {
      const params = JSON.stringify([bundleIds])
      return post(`{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`)
    },
  }
}
