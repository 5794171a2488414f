import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { decodePubkey } from '../src/shared/native.js'
import { startSandboxChain } from '../src/sandbox/sandbox-chain.js'
import { call, runToEnd } from './fixtures/deployment.js'
import { prepareServe } from './fixtures/serve.js'
import { until } from './fixtures/until.js'

type Slotted = { readonly context: { readonly slot: number } }

/** A service that follows a chain with transfers. */
const openBusyService = async (t: Test) => {
  const chain = await startSandboxChain({ slotMs: 40, trafficPerSecond: 500 })
  t.teardown(() => chain.close())
  const feed = { endpoint: chain.geyserUrl, startSlot: 1 }
  const prepared = await prepareServe(t, { one: feed }, { processes: { edgeCount: 1 } })
  const service = await prepared.start()
  const { mint } = chain.samples
  const slot = async (): Promise<number> => {
    const { context } = (await call(prepared.urlOf('one'), 'getAccountInfo', [mint])) as Slotted
    return context.slot
  }
  await until('slots are indexed', async () => (await slot()) > 5)
  const { configFile, dataDir } = prepared
  const stores = join(dataDir, 'accounts', 'one')
  const slotline = (name: string, ...args: readonly string[]) =>
    runToEnd(t, [name, '--config', configFile, '--network', 'one', ...args])
  return { chain, prepared, service, slot, stores, slotline }
}

/** Changes a byte of an index's key wherever it stands in the file of a store. */
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

t.test('verify, beside a busy service and without it', async t => {
  const { chain, service, slot, stores, slotline } = await openBusyService(t)
  const before = await slot()
  // Slow enough for many blocks to come between the slices.
  const beside = await slotline('verify', '--rate', '4000', '--json')
  t.equal(beside.code, 0, beside.output)
  const result = JSON.parse(beside.output)
  t.match(result, { isSound: true, networks: [{ network: 'one', generation: '1' }] })
  t.ok(result.networks[0].rows > 500 && result.networks[0].slot >= before)
  t.ok((await slot()) > before + 5, 'blocks were applied meanwhile')
  t.equal(await service.stop(), 0)

  const without = await slotline('verify')
  t.equal(without.code, 0)
  t.match(without.output, /^network one, store 1: no differences \([\d,]+ rows in [\d.]+ s\)\n$/)

  const { mint, tokenAccount } = chain.samples
  // A row of by_mint: the tag of the token program, the mint, the account.
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

t.test('what cannot be verified is one line, and no verdict', async t => {
  const prepared = await prepareServe(t, { one: { endpoint: 'http://127.0.0.1:1' } })
  const verify = (...args: string[]) => runToEnd(t, ['verify', ...args])
  const cases: [args: string[], says: RegExp][] = [
    [['--config', prepared.configFile], /^slotline: network one has no store in \S+ yet\n$/],
    [['--config', prepared.configFile, '--network', 'two'], /^slotline: no network two\n$/],
    [['--config', 'none.toml'], /^slotline: ENOENT[^\n]*\n$/],
    [['--config', prepared.configFile, '--rate', '0'], /integer from 1/],
    [[], /required option '--config <file>' not specified/],
  ]
  for (const [args, says] of cases) {
    const { code, output } = await verify(...args)
    t.equal(code, 2, args.join(' '))
    t.match(output, says)
  }
})
