import { mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setCurrentGeneration, storesPath } from '../../src/storage/generations.js'
import { recordExchanges } from '../data/record-exchanges.js'
import { tryToDisableCpuIdle } from '../service/cpu-idle.js'
import { runJob } from '../child.js'
import type {
  ServerCases,
  Case,
  Sequential,
  RoundTimes,
  SequentialResult,
} from '../load-generators/sequential.js'
import { benchConfig, createToken, NETWORK, startEdge, type Edge } from '../service/deployment.js'
import { median, type Figure } from '../report/report.js'
import type { MemoryGroup } from './memory-group.js'
import { casesOf, readSample } from './scale-sample.js'

const GENERATION = '1'
const ROUNDS = 9
/** Nothing is submitted. */
const NO_UPSTREAM = 9
/** Target of docs/performance.md. */
const GROWTH_MAX = 1.3

/**
 * An edge over an unchanging store, and requests whose replies have been checked.
 */
export type ScaleEdge = { readonly names: readonly string[]; readonly asked: ServerCases }

/** The store of scale_bench, and a folder for the files of an edge, which is removed afterwards. */
type Files = {
  readonly folder: string
  readonly dataDir: string
  /** What the edge is started in. */
  readonly group?: MemoryGroup
}

/** Runs a real edge over a loaded store for as long as `work` takes. */
export const withEdgeOver = async (
  { folder, dataDir, group }: Files,
  work: (edge: Edge) => Promise<void>,
): Promise<void> => {
  // Every answer is read: with the few mints of the small set, cached results would be returned
  // alone.
  const config = await benchConfig(dataDir, NO_UPSTREAM, { recentResultsMax: 0 })
  const stores = storesPath(dataDir, NETWORK)
  try {
    mkdirSync(stores, { recursive: true, mode: 0o700 })
    symlinkSync(resolve(folder, 'store'), join(stores, GENERATION))
    setCurrentGeneration(stores, GENERATION)
    const token = await createToken(config)
    const start = () => startEdge(config, token)
    const edge = await (group === undefined ? start() : group.around(start))
    try {
      await work(edge)
    } finally {
      await edge.stop()
    }
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
}

/** The same with the requests of each method. */
export const withScaleEdge = (files: Files, work: (edge: ScaleEdge) => Promise<void>) =>
  withEdgeOver(files, async edge => {
    const wanted = casesOf(readSample(join(files.folder, 'sample.json')))
    const cases: Case[] = []
    for (const { roundRequests, requestCount, calls } of wanted) {
      const some = await recordExchanges(edge.target, calls())
      const exchanges = Array.from({ length: requestCount }, (_, nth) => some[nth % some.length])
      cases.push({ exchanges: exchanges.filter(one => one !== undefined), roundRequests })
    }
    await work({ names: wanted.map(({ name }) => name), asked: { target: edge.target, cases } })
  })

/** Rounds of each case at each edge, the edges in turn; every answer is compared byte for byte. */
export const timeEdges = async (
  edges: readonly ScaleEdge[],
  note: (text: string) => void,
): Promise<SequentialResult> => {
  const rest = tryToDisableCpuIdle(note)
  try {
    const servers = edges.map(({ asked }) => asked)
    return await runJob<Sequential, SequentialResult>('load-generators/sequential.js', {
      servers,
      rounds: ROUNDS,
    })
  } finally {
    rest?.()
  }
}

type Cases = readonly (readonly RoundTimes[])[]

/** Medians over the rounds. */
export const edgeFigures = (names: readonly string[], timed: Cases): Figure[] =>
  names.flatMap((name, nth) =>
    (['p50', 'p99'] as const).map(quantile => ({
      name: `${name} at an edge: ${quantile}`,
      value: median((timed[nth] ?? []).map(round => round[quantile])),
      unit: 'µs',
      better: 'lower' as const,
      isTail: quantile !== 'p50',
    })),
  )

/** What the larger store costs: the median of the ratios, each of two rounds of the same second. */
export const growthFigures = (names: readonly string[], large: Cases, small: Cases): Figure[] =>
  names.map((name, nth) => {
    const before = small[nth] ?? []
    const ratios = (large[nth] ?? []).map(({ p50 }, round) => p50 / (before[round]?.p50 ?? NaN))
    const value = median(ratios)
    return {
      name: `${name} at an edge: p50`,
      value,
      unit: '×',
      better: 'lower',
      target: GROWTH_MAX,
    }
  })
