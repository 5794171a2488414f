import { join } from 'node:path'
import type { SenderConfig } from '../config/child-config.js'
import { sharedCells } from '../native/os.js'
import { MESSAGE_BYTES } from '../submission/link/messages.js'
import { SenderServer, type SenderHandlers } from '../submission/link/sender-server.js'
import { openSocketPath } from '../submission/link/socket-path.js'
import { takeOver } from '../submission/link/take-over.js'
import type { SubmissionQuery } from '../submission/relay/relay-types.js'
import { SingleFlight } from '../submission/single-flight.js'
import { findSubmission } from '../submission/store/find-submission.js'
import { senderPath } from '../submission/store/store-reader.js'
import { parseId } from '../submission/store/submission-id.js'
import type { Submission } from '../submission/store/submission.js'
import { UpstreamFailure } from '../upstream/errors.js'
import type { UpstreamModules } from '../upstream/named-upstream.js'
import { openLanders } from './landers.js'
import { OutcomeIndexes } from './outcome-indexes.js'
import { bucketWords, openRelays } from './relays.js'
import { openStore } from './store.js'

export type SenderModules = UpstreamModules & {
  /** Value of accessVersion, NaN once the lease has expired. */
  readonly version: () => number
  /** Looks a submission up at other machines; undefined on a machine by itself. */
  readonly findElsewhere?: ((query: SubmissionQuery) => Promise<Submission | undefined>) | undefined
}

/** The running sender of a machine. */
export type Sender = {
  /** Resolves when every call is answered and stored. Nothing new is begun. */
  drain(): Promise<void>
  /** A block was committed to the index of a network. */
  onCommitted(network: string, slot: number): void
}

/** Events of so long are announced to edges at once. */
const TOLD_MS = 2

/** Calls `run` once for all calls within a time. */
const gather = (run: () => void, ms: number): (() => void) => {
  let timer: NodeJS.Timeout | undefined
  return () => {
    timer ??= setTimeout(() => {
      timer = undefined
      run()
    }, ms)
  }
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

/** Opens the sender and takes over from the one that runs, if any. */
export const openSender = async (
  config: SenderConfig,
  { findElsewhere, version, ...modules }: SenderModules,
): Promise<Sender> => {
  const { dataDir, processes, submissionStore } = config
  const indexes = new OutcomeIndexes(config, modules.log)
  const onTold = gather(() => server.tell(), TOLD_MS)
  const opened = await openStore(config, { ...modules, indexes, onTold })
  const { store, onFault } = opened
  const tipSlot = indexes.tipSlot.bind(indexes)
  const singleFlight = new SingleFlight(() => server.isListening)
  const cells = sharedCells(join(senderPath(dataDir), 'buckets'), bucketWords(config))
  const words = new BigInt64Array(cells.buffer, cells.byteOffset, cells.length)
  const relays = await openRelays(config, { ...modules, store, singleFlight, tipSlot, words })
  const { pendingMs } = submissionStore
  const records = { store, tipSlot, now: Date.now, pendingMs }
  const landers = await openLanders(config, records, modules)
  const relayOf = (wanted: { readonly network: string; readonly route: string }) =>
    relays.find(({ network, route }) => network === wanted.network && route === wanted.route)
  const handlers: SenderHandlers = {
    bundle: async (of, mayStart) =>
      relayOf(of)?.bundles.send(of.bundle, mayStart) ?? {
        ending: { ...UNREACHABLE, answeredAtMs: Date.now() },
        joined: null,
      },
    statuses: async of => relayOf(of)?.statuses.ask(of.query).catch(failureKind) ?? 'unreachable',
    find: async ({ query }) => {
      const id = parseId(query.submissionId)
      if (id === undefined) return undefined
      const read = (): Submission | undefined => {
        const found = store.get(id)
        return found?.accessId === query.accessId ? found : undefined
      }
      const own = findSubmission(id, { read, now: Date.now, options: submissionStore })
      // Other machines are asked only for what is not known here.
      if (findElsewhere === undefined || read() !== undefined) return own
      return firstFound([own, findElsewhere(query)])
    },
    forward: async (of, mayStart, events) => {
      const lander = landers.find(({ network }) => network === of.network)
      return lander?.forwarder.forward(of, mayStart, events) ?? 'unreachable'
    },
    record: (id, submission) => {
      // A sender that was killed may have recorded it.
      const stored = store.get(id)
      const isLess = stored?.outcome === 'unknown' && stored.signatures.length === 0
      if (stored === undefined || isLess) store.record(id, submission, stored !== undefined)
    },
  }
  const path = openSocketPath(dataDir)
  const server: SenderServer = new SenderServer({
    path,
    messageBytesMax: processes.submissionBytesMax + MESSAGE_BYTES,
    handlers,
    version,
    inFlight: () => singleFlight.entries(),
    onSuccessor: () => store.stopTelling(),
    onSuccessorLost: () => store.resume(),
    onFault,
  })
  const predecessor = await takeOver(path, onFault)
  for (const [key, result] of predecessor?.inFlight ?? []) singleFlight.add(key, result)
  void predecessor?.ended.then(() => opened.resume()).catch(onFault)
  if (predecessor === undefined) await opened.resume()
  await server.listen()
  const drain = async (): Promise<void> => {
    await server.drain()
    await Promise.all([...relays, ...landers].map(one => one.close()))
    await opened.close()
    indexes.close()
    server.close()
  }
  let draining: Promise<void> | undefined
  return {
    drain: () => (draining ??= drain()),
    onCommitted: (network, slot) => {
      indexes.onCommitted(network, slot)
      opened.onCommitted(network)
    },
  }
}
