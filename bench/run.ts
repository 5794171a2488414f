// `npm run bench -- [part…] [--quick] [--save-baseline]`: builds a data set, checks that the
// answers are right, then measures. Nothing leaves the machine; each part runs in its own process.
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import bs58 from 'bs58'
import { setCurrentGeneration, storesPath } from '../src/storage/generations.js'
import { lockFile } from '../src/native/os.js'
import { parseArguments } from './arguments.js'
import { recordExchanges, type CheckedCall } from './data/record-exchanges.js'
import { tryToDisableCpuIdle } from './service/cpu-idle.js'
import { startChild } from './child.js'
import type { Context } from './context.js'
import { describeDataSet, sampleTokens, tokenPubkey } from './data/data.js'
import { benchConfig, createToken, NETWORK, startEdge } from './service/deployment.js'
import { benchAccountInfo } from './load/account-info.js'
import { benchCluster } from './load/cluster.js'
import { benchLargeReplies } from './load/large-replies.js'
import { benchLatency } from './load/latency.js'
import { benchLayers } from './load/layers.js'
import { benchMixed } from './load/mixed.js'
import { benchNotifications } from './load/notifications.js'
import { benchStoppedReaders } from './load/stopped-readers.js'
import { benchRawSubmission } from './load/raw-submission.js'
import { benchSubmission } from './load/submission.js'
import { benchTls } from './load/tls.js'
import { benchWebsockets } from './load/websockets.js'
import { describeMachine, formatMachine, measurePace } from './report/machine.js'
import { buildStore } from './micro/build-store.js'
import { benchNativeReads } from './micro/native-reads.js'
import { benchParts } from './micro/parts.js'
import { benchSignatures } from './micro/signatures.js'
import type { Listening } from './peers/upstream.js'
import { FULL, QUICK, SAMPLE_COUNT } from './options.js'
import { accountValue } from './data/reference.js'
import { formatFigure, isFailed, meetsTarget, regressions, type Figure } from './report/report.js'
import { readBaseline, saveBaseline, saveRun, toRun, workDir } from './report/results.js'
import { benchCold } from './scale/cold.js'
import { benchScale, type Alone } from './scale/scale.js'
import { createExpectedState, type ExpectedState } from './data/expected-state.js'

/** Parts that can be measured in addition to the building of the store, in this order. */
const PARTS: Readonly<Record<string, (context: Context) => Promise<void>>> = {
  'native-reads': benchNativeReads,
  parts: benchParts,
  signatures: benchSignatures,
  'account-info': benchAccountInfo,
  latency: benchLatency,
  'large-replies': benchLargeReplies,
  submission: benchSubmission,
  'raw-submission': benchRawSubmission,
  tls: benchTls,
  websockets: benchWebsockets,
  'stopped-readers': benchStoppedReaders,
  notifications: benchNotifications,
}
/** Measured only if named: what explains other figures, and what takes ten minutes. */
const ON_DEMAND: Readonly<Record<string, (context: Context) => Promise<void>>> = {
  cluster: benchCluster,
  layers: benchLayers,
  // The last one, because it writes the store.
  mixed: benchMixed,
}
/**
 * Needs neither store nor servers, and is measured only where it is named: it takes minutes and the
 * disk.
 */
const ALONE: Readonly<Record<string, (context: Alone) => Promise<void>>> = {
  scale: benchScale,
  cold: benchCold,
}
/**
 * Latencies of single requests: on both sides of each comparison no processor is to be woken first.
 */
const WITHOUT_CPU_IDLE: ReadonlySet<string> = new Set([
  'latency',
  'mixed',
  'raw-submission',
  'submission',
  'tls',
  'notifications',
  'stopped-readers',
])
const GENERATION = '1'

const print = (text: string): void => {
  process.stdout.write(`${text}\n`)
}

const accountCalls = (expected: ExpectedState): CheckedCall[] =>
  sampleTokens(expected.set, SAMPLE_COUNT).map(index => ({
    name: 'getAccountInfo',
    method: 'getAccountInfo',
    params: [bs58.encode(tokenPubkey(expected.set, index)), { encoding: 'base64' }],
    result: { context: { slot: expected.slot }, value: accountValue(expected.token(index)) },
  }))

const run = async (words: readonly string[]): Promise<number> => {
  const { parts, isQuick, savesBaseline } = parseArguments(words, {
    usual: ['apply', ...Object.keys(PARTS)],
    onDemand: [...Object.keys(ON_DEMAND), ...Object.keys(ALONE)],
  })
  const plan = isQuick ? QUICK : FULL
  const dataSet = describeDataSet(plan.set)
  const machine = describeMachine()
  print(`${formatMachine(machine)}\n${dataSet}`)
  const figures: Figure[] = []
  const report = (figure: Figure): void => {
    figures.push(figure)
    print(formatFigure(figure))
  }
  const note = (text: string): void => print(`  ${text}`)
  const begin = (part: string): void => {
    print(`\n${part}`)
    const [value, unit] = [measurePace(), 'ns'] as const
    report({ name: `${part}: the host's memory`, value, unit, better: 'lower', isTail: true })
  }

  const dir = workDir()
  if (!lockFile(`${dir}.lock`)) throw new Error('another run of the bench is under way here')
  rmSync(dir, { recursive: true, force: true })
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const overStore = async (): Promise<void> => {
    const expected = createExpectedState(plan.set, plan.history)
    const upstream = await startChild<null, Listening>('peers/upstream.js', null)
    const upstreamPort = upstream.answer.port
    const config = await benchConfig(join(dir, 'data'), upstreamPort)
    const stores = storesPath(config.dataDir, NETWORK)
    const storeDir = join(stores, GENERATION)
    mkdirSync(storeDir, { recursive: true, mode: 0o700 })
    begin('apply')
    await buildStore({ plan, storeDir, report, note })
    setCurrentGeneration(stores, GENERATION)
    const token = await createToken(config)
    const edge = await startEdge(config, token)
    try {
      const calls = accountCalls(expected)
      const accountInfo = await recordExchanges(edge.target, calls)
      const servers = { edge, token, upstreamPort }
      const shared = {
        plan,
        expected,
        dir,
        config,
        storeDir,
        ...servers,
        accountInfo,
        report,
        note,
      }
      for (const [name, measure] of Object.entries({ ...PARTS, ...ON_DEMAND })) {
        if (!parts.has(name)) continue
        begin(name)
        const rest = WITHOUT_CPU_IDLE.has(name) ? tryToDisableCpuIdle(note) : undefined
        await measure({ ...shared, accountCalls: calls })
        rest?.()
      }
    } finally {
      await edge.stop()
      await upstream.stop()
    }
  }
  try {
    if ([...parts].some(part => !Object.hasOwn(ALONE, part))) await overStore()
    for (const [name, measure] of Object.entries(ALONE)) {
      if (!parts.has(name)) continue
      begin(name)
      await measure({ dir, isQuick, report, note })
    }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }

  const finished = toRun(machine, dataSet, figures)
  print(`\nresults: ${saveRun(finished, new Date())}`)
  if (savesBaseline) saveBaseline(finished)
  const missed = figures.filter(figure => meetsTarget(figure) === false)
  if (missed.length > 0) print(`targets missed: ${missed.map(figure => figure.name).join('; ')}`)
  const baseline = readBaseline(dataSet)
  if (baseline === undefined) print('no baseline of this data set to compare with')
  const worse = regressions(figures, baseline?.figures ?? {})
  for (const line of worse) print(`much slower than the baseline: ${line}`)
  return isFailed({ isQuick, missed: missed.length, worse: worse.length }) ? 1 : 0
}

run(process.argv.slice(2)).then(
  code => process.exit(code),
  (error: unknown) => {
    process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`)
    process.exit(1)
  },
)
