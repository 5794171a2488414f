import { mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setCurrentGeneration, storesPath } from '../src/processes/generation.js'
import { askAll } from './ask.js'
import { tryToKeepAwake } from './awake.js'
import { runJob } from './child.js'
import type { OneByOne, Timed } from './clients/one-by-one.js'
import { benchConfig, createToken, NETWORK, startEdge } from './deployment.js'
import { median, type Figure } from './report.js'
import { casesOf, readSample } from './scale-sample.js'

const GENERATION = '1'
const ROUNDS = 5
/** Nothing is submitted. */
const NO_UPSTREAM = 9

/** Which store, and where the edge that reads it has its own files; they are gone afterwards. */
export type EdgeOver = {
  readonly storeDir: string
  readonly samplePath: string
  readonly dataDir: string
  readonly note: (text: string) => void
}

/**
 * What each method takes at a real edge over a store that stands still: one connection, one request after the other,
 * every answer checked in value before and byte for byte while it is timed.
 */
export const measureEdge = async (over: EdgeOver): Promise<Figure[]> => {
  const { storeDir, samplePath, dataDir, note } = over
  // Every answer is read: with as few mints as the small set has, kept results would answer for it alone.
  const config = await benchConfig(dataDir, NO_UPSTREAM, { recentResultsMax: 0 })
  const stores = storesPath(dataDir, NETWORK)
  try {
    mkdirSync(stores, { recursive: true, mode: 0o700 })
    symlinkSync(resolve(storeDir), join(stores, GENERATION))
    setCurrentGeneration(stores, GENERATION)
    const edge = await startEdge(config, await createToken(config))
    const rest = tryToKeepAwake(note)
    try {
      const cases = casesOf(readSample(samplePath))
      const asked: OneByOne['cases'][number][] = []
      for (const { roundRequests, questions } of cases) {
        const exchanges = await askAll(edge.target, questions())
        // The small set has fewer members; what the client holds of its own must not differ with the size.
        const count = exchanges.length < roundRequests ? roundRequests * ROUNDS : exchanges.length
        const filled = Array.from({ length: count }, (_, nth) => exchanges[nth % exchanges.length])
        asked.push({ exchanges: filled.filter(one => one !== undefined), roundRequests })
      }
      const { target } = edge
      const start = { target, cases: asked, rounds: ROUNDS }
      const timed = await runJob<OneByOne, Timed>('clients/one-by-one.js', start)
      return cases.flatMap(({ name }, nth) =>
        (['p50', 'p99'] as const).map(quantile => ({
          name: `${name} at an edge: ${quantile}`,
          value: median((timed[nth] ?? []).map(round => round[quantile])),
          unit: 'µs',
          better: 'lower' as const,
          isTail: quantile !== 'p50',
        })),
      )
    } finally {
      rest?.()
      await edge.stop()
    }
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
}
