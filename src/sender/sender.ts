import { join } from 'node:path'
import type { SenderConfig } from '../config/child-config.js'
import { bootMs, sharedCells } from '../native/os.js'
import type { LaneStatus } from '../storage/sender-status.js'
import { REMEMBERED_MS, SentTransactions } from '../submission/lander/sent-transactions.js'
import { MESSAGE_BYTES } from '../submission/link/messages.js'
import { SenderServer } from '../submission/link/sender-server.js'
import { openSocketPath } from '../submission/link/socket-path.js'
import { takeOver } from '../submission/link/take-over.js'
import { SingleFlight } from '../submission/single-flight.js'
import { senderPath } from '../submission/store/store-reader.js'
import type { UpstreamModules } from '../upstream/named-upstream.js'
import { createHandlers, type FindElsewhere } from './handlers.js'
import { openLanders } from './landers.js'
import { OutcomeIndexes } from './outcome-indexes.js'
import { laneCount, openRaces } from './races.js'
import { bucketWords, openRelays } from './relays.js'
import { openStore } from './store.js'

export type SenderModules = UpstreamModules & {
  /** Value of accessVersion, NaN once the lease has expired. */
  readonly version: () => number
  /** Looks a submission up at other machines; undefined on a machine by itself. */
  readonly findElsewhere?: FindElsewhere | undefined
}

/** The running sender of a machine. */
export type Sender = {
  /** Resolves when every call is answered and stored. Nothing new is begun. */
  drain(): Promise<void>
  /** A block was committed to the index of a network. */
  onCommitted(network: string, slot: number): void
  /** How each lane of each network is. */
  lanes(): readonly LaneStatus[]
}

/** Events of so long are announced to edges at once. */
const TOLD_MS = 2

/** Announces the accesses of a time at once. */
const gather = (tell: (accessIds: readonly string[]) => void): ((accessId: string) => void) => {
  let waiting = new Set<string>()
  return accessId => {
    if (waiting.size === 0)
      setTimeout(() => {
        const told = waiting
        waiting = new Set()
        tell([...told])
      }, TOLD_MS)
    waiting.add(accessId)
  }
}

/** Opens the sender and takes over from the one that runs, if any. */
export const openSender = async (
  config: SenderConfig,
  { findElsewhere, version, ...modules }: SenderModules,
): Promise<Sender> => {
  const { dataDir, processes, submissionStore } = config
  const indexes = new OutcomeIndexes(config, modules.log)
  const onTold = gather(accessIds => server.tell(accessIds))
  const opened = await openStore(config, { ...modules, indexes, onTold })
  const { store, onFault } = opened
  const tipSlot = indexes.tipSlot.bind(indexes)
  const mayBegin = (): boolean => server.isListening
  const singleFlight = new SingleFlight(mayBegin)
  const sent = new SentTransactions({ mayBegin, now: bootMs })
  const relayWords = bucketWords(config)
  const bucketCount = relayWords + laneCount(config)
  const cells = sharedCells(join(senderPath(dataDir), 'buckets'), bucketCount)
  const words = new BigInt64Array(cells.buffer, cells.byteOffset, cells.length)
  const relays = await openRelays(config, { ...modules, store, singleFlight, tipSlot, words })
  const { pendingMs } = submissionStore
  const records = { store, sent, tipSlot, now: Date.now, pendingMs }
  const landers = await openLanders(config, records, modules)
  const laneWords = words.subarray(relayWords)
  const races = await openRaces(config, { ...modules, records, onFault, words: laneWords })
  const handlers = createHandlers({
    ...{ landers, races, relays, store, sent, findElsewhere },
    options: submissionStore,
  })
  const path = openSocketPath(dataDir)
  const server: SenderServer = new SenderServer({
    path,
    messageBytesMax: processes.submissionBytesMax + MESSAGE_BYTES,
    handlers,
    version,
    inFlight: () => [...singleFlight.entries(), ...sent.inFlight()],
    remembered: () => sent.remembered(),
    onSuccessor: () => opened.stopPublishing(),
    onSuccessorLost: () => opened.resume(),
    onFault,
  })
  const predecessor = await takeOver(path, onFault)
  for (const one of predecessor?.remembered ?? []) sent.remember(one)
  for (const [key, result] of predecessor?.inFlight ?? [])
    if (!sent.adopt(key, result)) singleFlight.add(key, result)
  void predecessor?.ended
    .then(async () => {
      await opened.recover()
      await opened.resume()
    })
    .catch(onFault)
  if (predecessor === undefined) {
    await opened.recover()
    const sinceMs = Date.now() - REMEMBERED_MS
    // Those that were sent once: 25 µs each, before anything is served.
    for await (const { submission } of store.newest(sinceMs, submissionStore.awaitedMax, [
      'lander',
    ]))
      sent.recover(submission)
  }
  await server.listen()
  // Takes 20 µs a submission of ten minutes: the next one is served meanwhile.
  if (predecessor === undefined) await opened.resume()
  const drain = async (): Promise<void> => {
    await server.drain()
    await Promise.all([...relays, ...landers, ...races].map(one => one.close()))
    await opened.close()
    indexes.close()
    server.close()
  }
  let draining: Promise<void> | undefined
  return {
    drain: () => (draining ??= drain()),
    lanes: () => races.flatMap(race => race.status()),
    onCommitted: (network, slot) => {
      indexes.onCommitted(network, slot)
      opened.onCommitted(network)
    },
  }
}
