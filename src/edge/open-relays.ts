import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config/config.js'
import type { Metrics } from '../shared/metrics.js'
import { createTransactionChecks, type TransactionChecks } from '../native/transactions.js'
import { lockFile, sharedCells } from '../native/os.js'
import { createBook } from '../submission/store/book.js'
import { CLAIM_WORDS, createClaims } from '../submission/single-flight/lock-table.js'
import { createFlights } from '../submission/single-flight/single-flight.js'
import {
  edgePath,
  journalBytes,
  openLedger,
  openLedgers,
} from '../submission/store/submission-store.js'
import type { RelayMeter, RelayModules } from '../submission/relay/relay-types.js'
import { createRelay, type Relay } from '../submission/relay/relay.js'
import { createLogThrottle, LOG_PAUSE_MS } from '../shared/log-throttle.js'
import type { RelayRoute } from '../submission/store/submission.js'
import { watchTips } from '../submission/relay/tip-watch.js'
import { createTokenBucket } from '../submission/relay/token-bucket.js'
import { openNamedUpstream, type SubmissionModules } from './open-lander.js'

type Network = Config['networks'][number]
type Section = NonNullable<Network['relay']>

/** Sections of a network's configuration, by the route that they are of. */
const SECTIONS = [
  ['/relay', 'relay'],
  ['/relay-bundle', 'relayBundle'],
] as const satisfies readonly (readonly [RelayRoute, keyof Network])[]

/** Of the words that edges share: two for each route of a network, behind the claims. */
const WORDS_OF_ROUTE = 2

/** The relay routes of all networks at one edge. */
export type OpenRelays = {
  find(network: string, route: RelayRoute): Relay | undefined
  /** Any of the routes' checks; they share one pool. */
  readonly checks: TransactionChecks | undefined
  close(): Promise<void>
}

/** The edge among those of its machine. */
export type EdgePlace = { readonly index: number; readonly count: number }

/** Words of a file that every edge maps. */
const mapWords = (file: string, count: number): BigInt64Array => {
  const cells = sharedCells(file, count)
  return new BigInt64Array(cells.buffer, cells.byteOffset, cells.length)
}

/** Every time-out of one bundle's way to its engine. */
const flightMs = ({ upstream }: Section): number =>
  upstream.connectMs * upstream.urls.length + upstream.answerMs

const createMeter = (network: string, route: RelayRoute, metrics: Metrics): RelayMeter => {
  const labels = { network, route }
  const seconds = metrics.histogram('relaySeconds', labels)
  const joined = metrics.counter('relayJoined', labels)
  const mismatches = metrics.counter('relayMismatches', labels)
  const sent = metrics.counter('relayCalls', { ...labels, method: 'sendBundle', outcome: 'ok' })
  return {
    onCall: (method, outcome) => {
      if (method === 'sendBundle' && outcome === 'ok') sent.add(1)
      else metrics.counter('relayCalls', { ...labels, method, outcome }).add(1)
    },
    onForward: elapsedMs => seconds.observe(elapsedMs / 1000),
    onJoined: () => joined.add(1),
    onMismatch: () => mismatches.add(1),
  }
}

/** What all relay routes of an edge share: claims, the ledger, and flights over both. */
const openShared = async (
  config: Config,
  sections: readonly Section[],
  { index, count }: EdgePlace,
  { log, metrics, now }: SubmissionModules,
) => {
  const { dataDir, ledger: options } = config
  const dir = edgePath(dataDir, index)
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  if (!lockFile(join(dir, 'lock'))) throw new Error(`another edge ${index} runs on ${dataDir}`)
  const faults = metrics.counter('ledgerFaults')
  // A full disk fails with every submission.
  const throttle = createLogThrottle(LOG_PAUSE_MS, now)
  const onFault = (err: unknown): void => {
    faults.add(1)
    throttle(suppressedCount => log.error({ err, suppressedCount }, 'the ledger failed'))
  }
  const journal = sharedCells(join(dir, 'journal'), journalBytes(options) / 8)
  const bytes = new Uint8Array(journal.buffer, journal.byteOffset, journal.byteLength)
  const ledger = await openLedger(dir, { journal: bytes, now: Date.now, onFault }, options)
  const ledgers = openLedgers(dataDir, index, options)

  const words = mapWords(
    join(dataDir, 'edges', 'claims'),
    CLAIM_WORDS + config.networks.length * SECTIONS.length * WORDS_OF_ROUTE,
  )
  const followMs = Math.max(...sections.map(flightMs)) + options.followGraceMs
  const claims = createClaims({
    words: words.subarray(0, CLAIM_WORDS),
    edgeIndex: index,
    claimSecondsMax: Math.ceil(followMs / 1000) + 1,
    nowSeconds: () => process.hrtime()[0],
  })
  // After the ledger has taken over what was in flight: who waits for that finds it there.
  claims.clear(count)
  const read = (edge: number, id: Uint8Array) => {
    try {
      return edge === index ? ledger.get(id) : ledgers.get(edge, id)
    } catch (error) {
      onFault(error)
      return undefined
    }
  }
  const flights = createFlights(
    { followPollMs: options.followPollMs, followMs },
    { claims, read, now },
  )

  const [inFlight, records] = [metrics.gauge('relayInFlight'), metrics.gauge('ledgerRecords')]
  const used = metrics.gauge('storeUsed', { store: 'ledger' })
  const map = metrics.gauge('storeMap', { store: 'ledger' })
  metrics.beforeSnapshot(() => {
    const stats = ledger.stats()
    inFlight.set(stats.inFlight)
    records.set(stats.records)
    used.set(stats.usedBytes)
    map.set(stats.mapBytes)
  })
  const close = async (): Promise<void> => {
    await ledgers.close()
    await ledger.close()
  }
  return { words, flights, book: createBook(options, { ledger, ledgers, now: Date.now }), close }
}

const openRoute = async (
  config: Config,
  section: Section,
  place: { readonly network: string; readonly route: RelayRoute; readonly name: string },
  modules: SubmissionModules & Pick<RelayModules, 'flights' | 'book'> & { words: BigInt64Array },
) => {
  const { upstream: engine, serviceTipAddresses, engineTipAddresses, exemptPrograms } = section
  const { network, route, name } = place
  const { log, metrics, now, flights, book, words } = modules
  const options = {
    ...section,
    network,
    route,
    serviceTipAccounts: serviceTipAddresses,
    engineTipAccounts: engineTipAddresses,
  }
  const checks = createTransactionChecks(
    {
      tipClasses: [
        {
          addresses: serviceTipAddresses,
          floorLamports: BigInt(section.serviceTipFloorLamports),
        },
        { addresses: engineTipAddresses, floorLamports: BigInt(section.engineTipFloorLamports) },
      ],
      exemptPrograms,
    },
    config.pools,
  )
  const upstream = await openNamedUpstream(engine, { network, name }, { log, metrics, now })
  const nth =
    config.networks.findIndex(({ id }) => id === network) * SECTIONS.length +
    SECTIONS.findIndex(([known]) => known === route)
  const index = CLAIM_WORDS + nth * WORDS_OF_ROUTE
  const nowNs = process.hrtime.bigint
  const bucket = createTokenBucket(section, { words, index, nowNs })
  const relay = createRelay(options, {
    checks,
    upstream,
    bucket,
    flights,
    book,
    log,
    now: Date.now,
    clock: now,
    meter: createMeter(network, route, metrics),
  })
  const differ = metrics.gauge('relayTipsDiffer', { network, route })
  const turn = { requestsPerSecondMax: 1_000 / section.tipCheckMs, requestsBurstMax: 1 }
  const watch =
    section.tipCheckMs === 0
      ? undefined
      : watchTips(options, {
          upstream,
          bucket,
          turns: createTokenBucket(turn, { words, index: index + 1, nowNs }),
          log,
          onCompared: isSame => differ.set(isSame ? 0 : 1),
        })
  const close = async (): Promise<void> => {
    watch?.close()
    // Their clients may be gone, but what becomes of a bundle is worth knowing.
    const endMs = now() + engine.answerMs
    while (upstream.inFlight() > 0 && now() < endMs) await sleep(10)
    await upstream.close()
  }
  return { relay, checks, close }
}

/**
 * Opens every relay route that is configured. Without one, nothing is opened and nothing is made on
 * the disk.
 */
export const openRelays = async (
  config: Config,
  place: EdgePlace,
  modules: SubmissionModules,
): Promise<OpenRelays> => {
  const wanted = config.networks.flatMap(network =>
    SECTIONS.flatMap(([route, name]) => {
      const section = network[name]
      return section === undefined ? [] : [{ network: network.id, route, name, section }]
    }),
  )
  if (wanted.length === 0)
    return { find: () => undefined, checks: undefined, close: async () => {} }
  const sections = wanted.map(({ section }) => section)
  const shared = await openShared(config, sections, place, modules)
  const opened = new Map<string, Awaited<ReturnType<typeof openRoute>>>()
  for (const { section, ...at } of wanted)
    opened.set(
      `${at.network} ${at.route}`,
      await openRoute(config, section, at, { ...modules, ...shared }),
    )
  return {
    find: (network, route) => opened.get(`${network} ${route}`)?.relay,
    checks: [...opened.values()][0]?.checks,
    close: async () => {
      await Promise.all(Array.from(opened.values(), one => one.close()))
      await shared.close()
    },
  }
}
