import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { writeState } from '../../../src/ingest/bootstrap/state.js'
import { openIndexer } from '../../../src/native/indexer.js'
import { decodePubkey } from '../../../src/native/encoding.js'
import { defaults as storeDefaults } from '../../../src/native/store-options.js'
import { startSandboxChain } from '../../../src/sandbox/sandbox-chain.js'
import type { BackupLabel } from '../../../src/storage/backup.js'
import { openCommands } from '../../fixtures/processes/commands.js'
import { call, callText, runToEnd, startCommand } from '../../fixtures/processes/deployment.js'
import { prepareServe } from '../../fixtures/processes/serve.js'
import { repositoryUrl } from '../../fixtures/repository.js'
import { soakTest } from '../../fixtures/soak.js'
import { until } from '../../fixtures/until.js'

/** Preloaded: a backup pauses when the bytes are copied. */
const PAUSE_AFTER_COPY = repositoryUrl('test/fixtures/processes/pause-after-copy.mjs').href

type Slotted = { readonly context: { readonly slot: number } }

/** A service that follows a chain with transfers. */
const openBusyService = async (t: Test) => {
  const chain = await startSandboxChain({ slotMs: 80, trafficPerSecond: 40 })
  t.teardown(() => chain.close())
  const feed = { endpoint: chain.geyserUrl, startSlot: 1 }
  const prepared = await prepareServe(t, { one: feed }, { processes: { edgeCount: 1 } })
  const service = await prepared.start()
  const { mint } = chain.samples
  const slot = async (): Promise<number> => {
    const { context } = (await call(prepared.urlOf('one'), 'getAccountInfo', [mint])) as Slotted
    return context.slot
  }
  // Before the first block the call fails.
  await until('slots are indexed', async () => (await slot().catch(() => 0)) > 5)
  const { configFile, dataDir } = prepared
  const stores = join(dataDir, 'accounts', 'one')
  const slotline = (name: string, ...args: readonly string[]) =>
    runToEnd(t, [name, '--config', configFile, '--network', 'one', ...args])
  return { chain, configFile, prepared, service, slot, stores, slotline }
}

/** The stores in a folder, the name of the live one, and its writer. */
const generationsIn = (stores: string): readonly string[] =>
  readdirSync(stores)
    .filter(name => !name.startsWith('status.json'))
    .sort()

/** Changes a byte of an index's key at each occurrence in a store's file. */
const tamper = (file: string, key: Uint8Array): number => {
  const bytes = readFileSync(file)
  let count = 0
  for (let at = bytes.indexOf(key); at !== -1; at = bytes.indexOf(key, at + key.length)) {
    const last = at + key.length - 1
    bytes[last] = (bytes[last] ?? 0) ^ 1
    count += 1
  }
  writeFileSync(file, bytes)
  return count
}

soakTest('verify with and without a running service', {}, async t => {
  const { chain, service, slot, stores, slotline } = await openBusyService(t)
  const before = await slot()
  // Slow enough for many blocks between the slices.
  const beside = await slotline('verify', '--rate', '4000', '--json')
  t.equal(beside.code, 0, beside.output)
  const result = JSON.parse(beside.output)
  t.match(result, { isSound: true, networks: [{ network: 'one', generation: '1' }] })
  const { rows, seconds, slot: from } = result.networks[0]
  t.ok(rows > 500 && from >= before)
  // No pause follows the last slice.
  t.ok((rows - 1_000) / seconds <= 4_000, `${rows} rows in ${seconds} s`)
  t.ok((await slot()) > before + 5, 'blocks were applied meanwhile')
  t.equal(await service.stop(), 0)

  const without = await slotline('verify')
  t.equal(without.code, 0)
  t.match(without.output, /^network one, store 1: no differences \([\d,]+ rows in [\d.]+ s\)\n$/)

  const { mint, tokenAccount } = chain.samples
  // A row of by_mint: token program tag, mint, account.
  const row = Buffer.concat([Buffer.of(1), decodePubkey(mint), decodePubkey(tokenAccount)])
  t.ok(tamper(join(stores, '1', 'data.mdb'), row) > 0)
  const tampered = await slotline('verify')
  t.equal(tampered.code, 1, tampered.output)
  t.match(tampered.output, `by_mint: the row of ${tokenAccount} is missing`)
  t.match(tampered.output, /by_mint: \w+ has a row that it should not have/)
  const json = JSON.parse((await slotline('verify', '--json')).output)
  t.equal(json.isSound, false)
  t.ok(json.networks[0].differences.length >= 2)
})

t.test('verify without a readable store prints one line and no verdict', async t => {
  const prepared = await prepareServe(t, { one: { endpoint: 'http://127.0.0.1:1' } })
  const run = openCommands(t)
  const verify = (...args: string[]) => run('verify', ...args)
  const cases: [args: string[], says: RegExp][] = [
    [['--config', prepared.configFile], /^slotline: network one has no store in \S+ yet\n$/],
    [['--config', prepared.configFile, '--network', 'two'], /^slotline: no network two\n$/],
    [['--config', 'none.toml'], /^slotline: none\.toml does not exist\n$/],
    [['--config', prepared.configFile, '--rate', '0'], /integer from 1/],
    [[], /give --config <file> or --data-dir <dir>/],
  ]
  for (const [args, says] of cases) {
    const { code, output } = await verify(...args)
    t.equal(code, 2, args.join(' '))
    t.match(output, says)
  }
})

const labelOf = (dir: string): Pick<BackupLabel, 'slot' | 'bytes' | 'sha256'> =>
  JSON.parse(readFileSync(join(dir, 'backup.json'), 'utf8'))

/** Of backups, at instants from their start to a little after their end. */
const KILLS = 40
const KILL_WITHIN_MS = 1_200

t.test('a backup under load is a complete store and gives the same answers', async t => {
  const busy = await openBusyService(t)
  const { chain, configFile, prepared, service, slot, stores, slotline } = busy
  const dir = join(prepared.dataDir, '..', 'backups')
  mkdirSync(dir)
  const before = await slot()
  const [loaded, settled] = [join(dir, 'loaded'), join(dir, 'settled')]
  const made = await slotline('backup', '--to', loaded)
  t.equal(made.code, 0, made.output)
  t.match(made.output, `network one as of slot ${labelOf(loaded).slot}, `)
  t.ok(labelOf(loaded).slot >= before)
  t.strictSame(readdirSync(loaded).sort(), ['backup.json', 'data.mdb'])
  const [copied, live] = [loaded, join(stores, '1')].map(at => statSync(join(at, 'data.mdb')).size)
  t.ok((copied ?? 0) < (live ?? 0), `compact: ${copied} bytes of ${live}`)

  const again = await slotline('backup', '--to', loaded)
  t.equal(again.code, 1)
  t.match(again.output, /^slotline: \S+loaded exists: name a folder that does not\n$/)
  const running = await slotline('restore', '--from', loaded)
  t.equal(running.code, 1)
  t.match(running.output, /^slotline: a Slotline runs on \S+: stop it, then restore\n$/)
  t.strictSame(generationsIn(stores), ['1', 'CURRENT', 'indexer.lock'])

  const narrow = join(dir, 'narrow.toml')
  const reserve = `\n[store]\ndiskReserveBytes = ${2 ** 52}\n`
  writeFileSync(narrow, readFileSync(configFile, 'utf8') + reserve)
  const args = ['--config', narrow, '--network', 'one', '--to', join(dir, 'none')]
  const full = await runToEnd(t, ['backup', ...args])
  t.equal(full.code, 1)
  t.match(full.output, /bytes free, but \d+ are needed/)
  t.strictSame(readdirSync(dir).sort(), ['loaded', 'narrow.toml'], 'nothing is left')

  await t.test('a killed backup leaves no target', async t => {
    const target = join(dir, 'killed')
    const draft = join(dir, '.killed.unfinished')
    /** Ends a backup by a signal when the bytes are copied and the folder is not yet renamed. */
    const interrupt = async (signal: 'SIGKILL' | 'SIGTERM'): Promise<void> => {
      const args = ['backup', '--config', configFile, '--network', 'one', '--to', target]
      const { child, untilLogged, exit } = startCommand(t, args, `--import=${PAUSE_AFTER_COPY}`)
      await untilLogged('the copy is written')
      t.ok(existsSync(join(draft, 'data.mdb')))
      child.kill(signal)
      await exit
      t.notOk(existsSync(target))
    }
    await interrupt('SIGTERM')
    t.notOk(existsSync(draft), 'nothing at all is left')
    await interrupt('SIGKILL')
    t.ok(existsSync(draft))
    let wholeCount = 0
    for (let kill = 0; kill < KILLS; kill++) {
      const args = ['backup', '--config', configFile, '--network', 'one', '--to', target]
      const { child, exit } = startCommand(t, args)
      await sleep((kill * KILL_WITHIN_MS) / KILLS)
      child.kill('SIGKILL')
      await exit
      if (!existsSync(target)) continue
      wholeCount++
      const { bytes, sha256 } = labelOf(target)
      const data = readFileSync(join(target, 'data.mdb'))
      const digest = createHash('sha256').update(data).digest('hex')
      t.strictSame([data.length, digest], [bytes, sha256], 'what is there is whole')
      rmSync(target, { recursive: true })
    }
    t.comment(`${wholeCount} of ${KILLS} were whole`)
    t.ok(wholeCount < KILLS)
    const next = await slotline('backup', '--to', target)
    t.equal(next.code, 0, next.output)
    t.notOk(existsSync(draft), 'the next one clears what was left')
    t.notOk(readdirSync(stores).some(name => name.endsWith('.draft')))
  })

  await chain.close()
  await until('no block comes any more', async () => {
    const last = await slot()
    await sleep(1_000)
    return last === (await slot())
  })
  const { mint, tokenAccount, wallet } = chain.samples
  const answers = (): Promise<string[]> =>
    Promise.all([
      callText(prepared.urlOf('one'), 'getAccountInfo', [tokenAccount]),
      callText(prepared.urlOf('one'), 'getTokenLargestAccounts', [mint]),
      callText(prepared.urlOf('one'), 'getTokenAccountsByOwnerV2', [wallet, { mint }]),
      // Not getLatestBlockhash: it is refused when the last block is 10 s old.
      callText(prepared.urlOf('one'), 'getBlockHeight', []),
    ])
  const answered = await answers()
  t.equal((await slotline('backup', '--to', settled)).code, 0)
  t.equal(await service.stop(), 0)

  const restored = await slotline('restore', '--from', loaded)
  t.equal(restored.code, 0, restored.output)
  t.equal(restored.output, `network one: store 2, as of slot ${labelOf(loaded).slot}\n`)
  t.strictSame(generationsIn(stores), ['2', 'CURRENT', 'indexer.lock'])
  t.equal((await slotline('verify')).code, 0)
  const store = openIndexer(join(stores, '2'), storeDefaults)
  t.strictSame(store.check(), [], 'what was copied under load is one block')
  t.equal(store.tip()?.slot, labelOf(loaded).slot)
  store.close()

  // An interrupted bootstrap whose store would have the number of the restored one.
  const atMs = Date.now()
  const times = { begunAtMs: atMs, stepAtMs: atMs, attempts: 1 }
  writeState(stores, {
    request: { id: 'left', plan: { kind: 'rpc' } },
    generation: '3',
    status: { id: 'left', kind: 'rpc', locations: [], step: 'spool', state: 'running', ...times },
  })
  t.equal((await slotline('restore', '--from', settled)).code, 0)
  t.notOk(existsSync(join(stores, 'bootstrap.json')), 'the restored store replaces it')
  const second = await prepared.start()
  t.strictSame(await answers(), answered)
  t.equal(await second.stop(), 0)

  await t.test('a folder that is no backup of this network is refused', async t => {
    const wrong = async (says: RegExp): Promise<void> => {
      const { code, output } = await slotline('restore', '--from', settled)
      t.equal(code, 1)
      t.match(output, says)
      t.strictSame(generationsIn(stores), ['3', 'CURRENT', 'indexer.lock'])
    }
    const file = join(settled, 'backup.json')
    const label = readFileSync(file, 'utf8')
    writeFileSync(file, label.replace('"one"', '"two"'))
    await wrong(/is a backup of network two, not of one\n$/)
    writeFileSync(file, label.replace(/"slot":\d+/, '"slot":1'))
    await wrong(/is damaged: its newest block is not of slot 1\n$/)
    writeFileSync(file, label)
    const data = join(settled, 'data.mdb')
    const whole = readFileSync(data)
    writeFileSync(data, whole.subarray(0, whole.length >> 1))
    await wrong(/is damaged: it has \d+ bytes in place of \d+\n$/)
    const altered = Buffer.from(whole)
    altered[altered.length >> 1] = (altered[altered.length >> 1] ?? 0) ^ 1
    writeFileSync(data, altered)
    await wrong(/is damaged: its SHA-256 is \w{64} in place of \w{64}\n$/)
    const foreign = Buffer.from('no store '.repeat(10_000))
    writeFileSync(data, foreign)
    const sha256 = createHash('sha256').update(foreign).digest('hex')
    writeFileSync(file, JSON.stringify({ ...JSON.parse(label), bytes: foreign.length, sha256 }))
    await wrong(/the backup cannot be used here: it holds a file that is not a Slotline store/)
    writeFileSync(file, label.replace(/,"sha256":"\w+"/, ''))
    await wrong(/settled contains no backup, or one without the checksum that restore demands\n$/)
    rmSync(file)
    await wrong(/settled contains no backup, or one without the checksum/)
  })
})
