import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import bs58 from 'bs58'
import t, { type Test } from 'tap'
import { readStatus } from '../../src/processes/status-file.js'
import { ADDRESSES } from '../../src/sandbox/addresses.js'
import { startSandboxChain } from '../../src/sandbox/sandbox-chain.js'
import { createTransfers } from '../../src/sandbox/traffic.js'
import { serveArchives } from '../fixtures/archive-server.js'
import { examineStore, trackChain } from '../fixtures/chain-state.js'
import { call, runToEnd } from '../fixtures/deployment.js'
import { foundPid } from '../fixtures/found-pid.js'
import { startHeldProxy } from '../fixtures/held-proxy.js'
import { prepareServe } from '../fixtures/serve.js'
import { recordChain } from '../fixtures/snapshot-archive.js'
import { isSoak } from '../fixtures/soak.js'
import { until } from '../fixtures/until.js'

type Step = 'spool' | 'load' | 'replay'
type Kind = 'snapshot' | 'rpc'

const TICK_MS = 40
const FULL = 'snapshot.tar.bz2'
const BOOTSTRAP = { pollMs: 30, firstBlockMs: 20_000, snapshotPollMs: 100, snapshotWaitMs: 20_000 }
/** The load of a snapshot is killed by test/processes/bootstrap.ts. */
const KILLS: readonly (readonly [Kind, Step])[] = isSoak
  ? (['snapshot', 'rpc'] as const).flatMap(kind =>
      (['spool', 'load', 'replay'] as const).map(step => [kind, step] as const),
    )
  : [['rpc', 'load']]

/** A service with a network of each kind, on a chain that stands still unless it is told to go on. */
const open = async (t: Test) => {
  const sandbox = await startSandboxChain({ seed: 'steps', firstSlot: 1, slotMs: 0 })
  t.teardown(() => sandbox.close())
  const { chain, world } = sandbox
  const state = trackChain(chain)
  const record = await recordChain(sandbox)
  t.teardown(() => record.close())
  const files = await serveArchives(t)
  const rpc = await startHeldProxy(t, sandbox.rpc.url)
  const transfer = createTransfers(chain, world)
  const tick = (): void => {
    transfer()
    chain.tick()
  }
  let clock: NodeJS.Timeout | undefined
  const stand = (): void => clearInterval(clock)
  const goOn = (): void => {
    stand()
    clock = setInterval(tick, TICK_MS)
  }
  t.teardown(stand)
  for (let slots = 6; slots > 0; slots -= 1) tick()
  const feed = { endpoint: sandbox.geyserUrl, startSlot: 1 }
  const prepared = await prepareServe(
    t,
    { snapshot: feed, rpc: feed },
    {
      processes: { edgeCount: 1, restartFirstMs: 20, restartMaxMs: 100, restartReadyMaxMs: 100 },
      bootstrap: BOOTSTRAP,
      status: { writeMs: 30, staleMs: 5_000 },
      networks: [
        { id: 'snapshot', feed },
        {
          id: 'rpc',
          feed,
          scope: { programs: [bs58.encode(ADDRESSES.token)] },
          accountsRpc: { endpoint: rpc.url, requestsPerSecondMax: 1_000 },
        },
      ],
    },
  )
  const archives = join(prepared.dataDir, '..', 'archives')
  mkdirSync(archives)
  files.serve(archives)
  const storesOf = (kind: Kind): string => join(prepared.dataDir, 'accounts', kind)
  const statusOf = (kind: Kind) => readStatus(storesOf(kind))?.bootstrap
  return {
    chain,
    files,
    prepared,
    rpc,
    stand,
    goOn,
    tick,
    storesOf,
    statusOf,
    writeFull: async (): Promise<void> => {
      const { slot } = chain.tip
      files.redirects.set(FULL, basename(await record.writeFull(archives, slot)))
    },
    begin: (kind: Kind) => {
      const place = `${files.url}/${FULL}`
      const words = kind === 'rpc' ? ['bootstrap', 'rpc'] : ['snapshot', 'load', place]
      return runToEnd(t, [...words, '--config', prepared.configFile, '--network', kind])
    },
    /** All is as the chain has it, and nothing lies there beside one store. */
    examine: async (t: Test, kind: Kind, generation: string): Promise<void> => {
      const url = prepared.urlOf(kind)
      await until('every block is there', async () => {
        const { context } = (await call(url, 'getLatestBlockhash', [])) as {
          context: { slot: number }
        }
        return context.slot === chain.tip.slot
      })
      const owner = kind === 'rpc' ? ADDRESSES.token : undefined
      t.strictSame(await state.wrongAt(url, owner), [], 'each account is as the chain has it')
      t.strictSame(
        readdirSync(storesOf(kind), { withFileTypes: true })
          .filter(entry => entry.isDirectory() || entry.name.includes('request'))
          .map(({ name }) => name),
        [generation],
        'nothing else is left',
      )
    },
  }
}

type World = Awaited<ReturnType<typeof open>>

/** Brings a bootstrap to a step, where it stays until the chain goes on. Answers its command. */
const bringTo = async (world: World, kind: Kind, step: Step) => {
  const { begin, chain, files, rpc, stand, statusOf, tick, writeFull } = world
  stand()
  await writeFull()
  const waiting = kind === 'rpc' ? rpc.waiting : files.waiting
  waiting.length = 0
  // The command asks for the name as well.
  if (step === 'spool') files.answerHeads(1)
  if (step === 'load') (kind === 'rpc' ? rpc : files).hold(true)
  const loading = begin(kind)
  const isAt = (wanted: Step): boolean => {
    const { state, step } = statusOf(kind) ?? {}
    return state === 'running' && step === wanted
  }
  // From the head on, nothing comes to the spool before there is a block.
  const { slot } = chain.tip
  if (kind === 'rpc' && step !== 'spool') {
    await until('it waits for a block', () => isAt('spool'))
    await until('it reads', async () => {
      if (chain.tip.slot === slot) tick()
      await new Promise(next => setTimeout(next, 100))
      if (!isAt('spool')) return true
      tick()
      return false
    })
  }
  await until(`it is at ${step}`, () => isAt(step) && (step !== 'load' || waiting.length > 0))
  return { loading }
}

const release = ({ files, rpc, goOn }: World): void => {
  files.answerHeads(Infinity)
  files.hold(false)
  rpc.hold(false)
  goOn()
}

t.test('kill -9 at each step of a bootstrap', async t => {
  const world = await open(t)
  const { chain, examine, prepared, stand, statusOf, storesOf, tick } = world
  let service = await prepared.start()
  const generations = { snapshot: 1, rpc: 1 }
  /** In the order of the networks. */
  const pidOf = (kind: Kind): number =>
    foundPid(service.pidsOf('indexer').find(pid => readStatus(storesOf(kind))?.pid === pid))

  for (const [kind, step] of KILLS)
    await t.test(`${kind}, ${step}`, async t => {
      const { loading } = await bringTo(world, kind, step)
      process.kill(pidOf(kind), 'SIGKILL')
      release(world)
      const { code, output } = await loading
      t.equal(code, 0, output)
      t.match(statusOf(kind), { kind, step: 'live', state: 'done', attempts: 2 })
      stand()
      generations[kind] += 1
      await examine(t, kind, String(generations[kind]))
    })

  for (const kind of isSoak ? (['snapshot', 'rpc'] as const) : (['snapshot'] as const))
    await t.test(`${kind}, its store is live, and nobody has said so yet`, async t => {
      const stores = storesOf(kind)
      const before = String(generations[kind])
      const left = join(prepared.dataDir, '..', `left-${kind}`)
      const { loading } = await bringTo(world, kind, 'replay')
      const state = readFileSync(join(stores, 'bootstrap.json'), 'utf8')
      t.match(state, /"step":"replay"/)
      cpSync(join(stores, 'bootstrap'), left, { recursive: true })
      release(world)
      t.equal((await loading).code, 0)
      stand()
      t.equal(await service.stop(), 0)
      // What a kill leaves between the store's new name and the word that all is done.
      writeFileSync(join(stores, 'bootstrap.json'), state)
      cpSync(left, join(stores, 'bootstrap'), { recursive: true })
      mkdirSync(join(stores, before))
      for (let slots = 3; slots > 0; slots -= 1) tick()
      service = await prepared.start()
      await until('it is settled', () => statusOf(kind)?.state === 'done')
      generations[kind] += 1
      await examine(t, kind, String(generations[kind]))
      t.equal(readStatus(stores)?.generation, String(generations[kind]))
    })

  t.equal(await service.stop(), 0)
  for (const kind of ['snapshot', 'rpc']) {
    const { differences, tip } = examineStore(prepared, kind)
    t.strictSame(differences, [], 'every index equals a recomputation')
    t.match(tip, { slot: chain.tip.slot, blockhash: chain.tip.blockhash })
  }
})
