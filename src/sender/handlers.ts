import type { SentTransactions } from '../submission/lander/sent-transactions.js'
import type { SenderHandlers } from '../submission/link/sender-server.js'
import type { SubmissionQuery } from '../submission/relay/relay-types.js'
import { findSubmission } from '../submission/store/find-submission.js'
import { parseId } from '../submission/store/submission-id.js'
import type { SubmissionStore } from '../submission/store/submission-store.js'
import type { FoundSubmission, Submission } from '../submission/store/submission.js'
import { UpstreamFailure } from '../upstream/errors.js'
import type { SenderConfig } from '../config/child-config.js'
import type { OpenLander } from './landers.js'
import type { OpenRace } from './races.js'
import type { OpenRelay } from './relays.js'

/** Looks a submission up at other machines. */
export type FindElsewhere = (query: SubmissionQuery) => Promise<FoundSubmission | undefined>

type HandlerParts = {
  readonly landers: readonly OpenLander[]
  readonly races: readonly OpenRace[]
  readonly relays: readonly OpenRelay[]
  readonly store: SubmissionStore
  readonly sent: SentTransactions
  readonly findElsewhere: FindElsewhere | undefined
  readonly options: SenderConfig['submissionStore']
}

const failureKind = (failure: unknown): UpstreamFailure['kind'] => {
  if (failure instanceof UpstreamFailure) return failure.kind
  throw failure
}

/** Of a route that a newer configuration has no more. */
const UNREACHABLE = {
  outcome: 'unreachable',
  result: null,
  error: null,
  engine: null,
  forwardedAtMs: null,
} as const

/** The first value that is found; undefined where none is. */
const firstFound = <T>(lookups: readonly Promise<T | undefined>[]): Promise<T | undefined> =>
  Promise.any(
    lookups.map(async lookup => {
      const found = await lookup
      if (found === undefined) throw new Error('not found')
      return found
    }),
  ).catch(() => undefined)

/** What the sender does for an edge. */
export const createHandlers = ({
  landers,
  races,
  relays,
  store,
  sent,
  findElsewhere,
  options,
}: HandlerParts): SenderHandlers => {
  const relayOf = (wanted: { readonly network: string; readonly route: string }) =>
    relays.find(({ network, route }) => network === wanted.network && route === wanted.route)
  return {
    bundle: async (of, mayStart) =>
      relayOf(of)?.bundles.send(of.bundle, mayStart) ?? {
        ending: { ...UNREACHABLE, answeredAtMs: Date.now() },
        joined: null,
      },
    statuses: async of => relayOf(of)?.statuses.ask(of.query).catch(failureKind) ?? 'unreachable',
    find: async ({ query }) => {
      const id = parseId(query.key)
      // An edge has looked for a signature in the store of this machine.
      if (id === undefined) return findElsewhere?.(query)
      const read = (): Submission | undefined => {
        const found = store.get(id)
        return found?.accessId === query.accessId ? found : undefined
      }
      const look = async (): Promise<FoundSubmission | undefined> => {
        const submission = await findSubmission(id, { read, now: Date.now, options })
        return submission && { submissionId: query.key, submission }
      }
      const own = look()
      // Other machines are asked only for what is not known here.
      if (findElsewhere === undefined || read() !== undefined) return own
      return firstFound([own, findElsewhere(query)])
    },
    forward: async (of, mayStart, events) => {
      const ways = of.route === '/race' ? races : landers
      const way = ways.find(({ network }) => network === of.network)
      return way?.forwarder.forward(of, mayStart, events) ?? 'unreachable'
    },
    record: (id, submission) => {
      // A sender that was killed may have recorded it.
      const stored = store.get(id)
      const isLess = stored?.outcome === 'unknown' && stored.signatures.length === 0
      if (stored !== undefined && !isLess) return
      // An edge does not know how far a race had come.
      const whole =
        stored?.lanes === undefined ? submission : { ...submission, lanes: stored.lanes }
      store.record(id, whole, stored !== undefined)
      sent.recover(whole)
    },
  }
}
