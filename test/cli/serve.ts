import { writeFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { startSandboxChain } from '../../src/sandbox/sandbox-chain.js'
import { call, callText, runToEnd } from '../fixtures/processes/deployment.js'
import { prepareServe } from '../fixtures/processes/serve.js'
import { until } from '../fixtures/until.js'

/** A chain whose slots are ended by the test. */
const openChain = async (t: Test, seed: string, firstSlot = 1) => {
  const chain = await startSandboxChain({ seed, firstSlot, slotMs: 0 })
  t.teardown(() => chain.close())
  return chain
}

type Slotted = { readonly context: { readonly slot: number }; readonly value: unknown }

t.test('two networks with separate feeds and tokens', async t => {
  const one = await openChain(t, 'one')
  const two = await openChain(t, 'two', 1_000)
  const feeds = {
    one: { endpoint: one.geyserUrl, startSlot: 1 },
    two: { endpoint: two.geyserUrl, startSlot: 1_000 },
  }
  const processes = { edgeCount: 1 }
  const prepared = await prepareServe(t, feeds, { processes })
  const { urlOf, portOf, tokenOf } = prepared
  const service = await prepared.start()
  const readOn = (network: string, key: string): Promise<Slotted> =>
    call(urlOf(network), 'getAccountInfo', [key]) as Promise<Slotted>
  const slotOn = async (network: string): Promise<number> => {
    const text = await callText(urlOf(network), 'getSlot', [{ commitment: 'confirmed' }])
    return Number(/"result":(\d+)/.exec(text)?.[1] ?? -1)
  }
  await until('both networks are indexed', async () => {
    const slots = await Promise.all([slotOn('one'), slotOn('two')])
    return slots[0] === one.chain.tip.slot && slots[1] === two.chain.tip.slot
  })
  t.equal(service.pidsOf('indexer').length, 2, 'an indexer for each network')

  t.match(await readOn('one', one.samples.wallet), { value: { lamports: Number } })
  t.match(await readOn('two', two.samples.wallet), { value: { lamports: Number } })
  t.match(await readOn('one', two.samples.wallet), { value: null }, 'of the other chain: not there')
  // The feed of the other begins long after the first block of its chain.
  t.match(
    await callText(urlOf('two'), 'getAccountInfo', [one.samples.wallet]),
    'is not complete yet',
  )
  const swapped = `http://127.0.0.1:${portOf('fra')}/${tokenOf('one', 'nyc')}`
  t.match(JSON.parse(await callText(swapped, 'getAccountInfo', [one.samples.mint])), {
    error: { message: 'Unauthorized' },
  })

  one.chain.tick()
  one.chain.tick()
  await until('the tip of one moved', async () => (await slotOn('one')) === 3)
  t.equal(await slotOn('two'), 1_000, 'and that of the other did not')

  one.geyser.dropStreams()
  one.chain.tick()
  await until('the dropped feed is read again', async () => (await slotOn('one')) === 4)
  t.equal(await service.stop(), 0, 'exit code')

  two.chain.tick()
  const again = await prepared.start()
  t.ok((await slotOn('one')) >= 4, 'the next start continues at the stored slot')
  await until('and catches up', async () => (await slotOn('two')) === 1_001)
  const ask = (): Promise<string> =>
    callText(urlOf('one'), 'getAccountInfo', [one.samples.tokenAccount])
  const answer = await ask()
  t.match(answer, '"lamports"')
  t.equal(await again.stop(), 0)

  await Promise.all([one.close(), two.close()])
  const last = await prepared.start()
  t.equal(await ask(), answer, 'without its feeds it starts, and answers from its store')
  t.equal(await last.stop(), 0)
})

t.test('a configuration error is one line', async t => {
  const prepared = await prepareServe(t, { one: { endpoint: 'http://127.0.0.1:1' } })
  writeFileSync(prepared.configFile, 'dataDirs = "x"\n')
  const { code, output } = await runToEnd(t, ['serve', '--config', prepared.configFile])
  t.equal(code, 1)
  t.match(
    output,
    /^slotline: [^\n]+slotline\.toml:1: dataDirs is unknown; did you mean dataDir\? \(and 2 more: slotline config check\)\n$/,
  )
})
