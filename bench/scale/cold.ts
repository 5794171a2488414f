// A store that is five times as large as the memory of the service: how fast blocks are applied,
// and how long reads take, alone and beside them. All pages but those that are used often are read
// from the disk.
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { runJob } from '../child.js'
import { recordExchanges } from '../data/record-exchanges.js'
import type { Exchange } from '../load-generators/connection.js'
import type { Latency, OpenLoop } from '../load-generators/open-loop.js'
import type { Edge } from '../service/deployment.js'
import { createMemoryGroup, type MemoryGroup } from './memory-group.js'
import { withEdgeOver } from './scale-edge.js'
import { casesOf, mintAccounts, readSample } from './scale-sample.js'
import { runSize, type Alone } from './scale.js'

const SIZES = { full: 20_000_000, quick: 200_000 } as const
/** Part of the store's file that fits in the memory of the service, beside what programs need. */
const MEMORY_PART = 5
const MEMORY_BYTES_MIN = 256 * 1024 ** 2
/** Figures of scale_bench that are about this; it reports the load first. */
const OWN = /^(cold|disk)/
const POINTS_PER_SECOND = 100
const PAGES_PER_SECOND = 1
const CONNECTIONS = 32
const PAGES = 'getProgramAccountsV2, 1000 rows'
/** Times of the full size; the updates of cold.rs take as long. */
const TIMES = {
  aloneMs: 20_000,
  warmMs: 10_000,
  pointsMs: 25_000,
  pauseMs: 15_000,
  pagesMs: 20_000,
}

/** Page faults of a process that waited for the disk. */
const majorFaults = (pid: number): number => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[9])
}

type Reads = {
  readonly name: string
  readonly exchanges: readonly Exchange[]
  readonly requestsPerSecond: number
  readonly durationMs: number
}

const time = async (
  edge: Edge,
  { name, durationMs, ...load }: Reads,
  { report }: Pick<Alone, 'report'>,
): Promise<void> => {
  const before = majorFaults(edge.pid)
  const latency = await runJob<OpenLoop, Latency>('load-generators/open-loop.js', {
    ...load,
    durationMs,
    target: edge.target,
    connectionCount: CONNECTIONS,
    warmMs: 0,
  })
  if (latency.failures > 0) throw new Error(`${name}: ${latency.failed.join('; ')}`)
  for (const quantile of ['p50', 'p99'] as const)
    report({
      name: `cold, ${name}: ${quantile}`,
      value: latency[quantile],
      unit: 'ms',
      better: 'lower',
    })
  const faults = (majorFaults(edge.pid) - before) / latency.count
  report({ name: `cold, ${name}: page faults`, value: faults, unit: 'a read', better: 'lower' })
}

/** Checked once, while all of the store is in memory; the program's accounts are not written. */
const record = async (folder: string, edge: Edge) => {
  const sample = readSample(join(folder, 'sample.json'))
  const ofAnySlot = (exchanges: readonly Exchange[]) =>
    exchanges.map(one => ({ ...one, isOfAnySlot: true }))
  const pages = casesOf(sample).find(({ name }) => name === PAGES)
  if (pages === undefined) throw new Error('no pages')
  return {
    points: ofAnySlot(await recordExchanges(edge.target, mintAccounts(sample))),
    pages: ofAnySlot(await recordExchanges(edge.target, pages.calls())),
  }
}

/** What breaks first where most of the store is on the disk. */
export const benchCold = async (alone: Alone): Promise<void> => {
  const { dir, isQuick, report, note } = alone
  const size = isQuick ? SIZES.quick : SIZES.full
  const part = isQuick ? 0.1 : 1
  let recorded: Awaited<ReturnType<typeof record>> | undefined
  let reading: Promise<void> | undefined
  let group: MemoryGroup | undefined
  const files = { folder: join(dir, `scale-${size}`), dataDir: join(dir, 'edge-cold') }
  const bytes = (): number => statSync(join(files.folder, 'store', 'data.mdb')).size
  const readBeside = async (
    edge: Edge,
    { points, pages }: Awaited<ReturnType<typeof record>>,
  ): Promise<void> => {
    const of = { exchanges: points, requestsPerSecond: POINTS_PER_SECOND }
    await sleep(part * TIMES.warmMs)
    const name = 'getAccountInfo beside updates'
    await time(edge, { ...of, name, durationMs: part * TIMES.pointsMs }, alone)
    await sleep(part * TIMES.pauseMs)
    const load = { exchanges: pages, requestsPerSecond: PAGES_PER_SECOND }
    const paged = { name: `${PAGES} beside updates`, durationMs: part * TIMES.pagesMs }
    await time(edge, { ...load, ...paged }, alone)
  }
  note(`${size} accounts; memory of the service: a ${MEMORY_PART}th of the file`)
  note('updates: 2,000 a block, by Zipf’s law (exponent 1), then uniformly; reads: uniformly')
  await runSize({
    ...{ size, dir, mode: 'cold' },
    onFigure: figure => {
      if (OWN.test(figure.name)) report(figure)
    },
    onPause: async (pause, pid) => {
      if (pause === 'loaded') {
        await withEdgeOver(files, async edge => void (recorded = await record(files.folder, edge)))
        return
      }
      const exchanges = recorded
      if (exchanges === undefined) throw new Error('nothing was recorded')
      const memory = createMemoryGroup(
        'slotline-cold',
        Math.max(MEMORY_BYTES_MIN, Math.round(bytes() / MEMORY_PART)),
      )
      group = memory
      memory.add(pid)
      await new Promise<void>((resolve, reject) => {
        reading = withEdgeOver({ ...files, group: memory }, async edge => {
          const { points, pages } = exchanges
          const of = { exchanges: points, requestsPerSecond: POINTS_PER_SECOND }
          await time(
            edge,
            { ...of, name: 'getAccountInfo', durationMs: part * TIMES.aloneMs },
            alone,
          )
          const load = { exchanges: pages, requestsPerSecond: PAGES_PER_SECOND }
          await time(edge, { ...load, name: PAGES, durationMs: part * TIMES.pagesMs }, alone)
          resolve()
          await readBeside(edge, exchanges)
        })
        reading.catch(reject)
      })
    },
  })
  await reading
  group?.remove()
}
