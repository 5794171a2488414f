// A start with another scope rebuilds the store beside the former one, and a reload refuses it.
import { readFileSync, writeFileSync } from 'node:fs'
import bs58 from 'bs58'
import { parse, stringify } from 'smol-toml'
import t from 'tap'
import { ADDRESSES } from '../../../src/sandbox/solana/addresses.js'
import { openBootstrapHarness } from '../../fixtures/ingest/bootstrap-harness.js'
import { call, runToEnd } from '../../fixtures/processes/deployment.js'
import { isSoak } from '../../fixtures/soak.js'
import { until } from '../../fixtures/until.js'

type Network = Record<string, unknown> & { readonly feed: object }

const scopeOf = (...programs: readonly Uint8Array[]): string[] =>
  programs.map(program => bs58.encode(program))
const ONE = scopeOf(ADDRESSES.token)
const TWO = scopeOf(ADDRESSES.token, ADDRESSES.token2022)

t.test('a start with another scope rebuilds the store', async t => {
  const harness = await openBootstrapHarness(t)
  const { pauseChain, prepared, remainingIn, resumeChain, rpc, statusOf } = harness
  const url = prepared.urlOf('rpc')
  const isHealthy = (): Promise<boolean> =>
    call(url, 'getHealth', []).then(
      () => true,
      () => false,
    )
  const checkState = async (generation: string): Promise<void> => {
    pauseChain()
    await harness.checkState(t, 'rpc', generation)
    resumeChain()
  }
  /** The feed begins at the live head: what it replays would complete a store by itself. */
  const configure = (programs: readonly string[]): void => {
    const config = parse(readFileSync(prepared.configFile, 'utf8'))
    const [first, second] = config['networks'] as [Network, Network]
    const { startSlot: _all, ...feed } = second.feed as Record<string, unknown>
    const rebuilt = { ...second, feed, scope: { programs }, repairSteps: ['rpc'] }
    writeFileSync(prepared.configFile, stringify({ ...config, networks: [first, rebuilt] }))
  }

  let service = await prepared.start()
  resumeChain()
  await until('the first store is complete', isHealthy)
  await checkState('1')
  configure(TWO)
  const reloaded = await runToEnd(t, ['reload', '--config', prepared.configFile])
  t.match(reloaded, {
    code: 1,
    output: /was built for another scope: set the scope back, or start the service, which rebuilds/,
  })
  await until('the former scope is served', isHealthy)
  t.equal(await service.stop(), 0)

  service = await prepared.start()
  t.match(service.output(), /was built for another scope.*"the store is rebuilt"/)
  await until('the rebuilt store is complete', isHealthy)
  await until('the bootstrap is done', () => statusOf('rpc')?.state === 'done')
  await checkState('3')
  t.equal(await service.stop(), 0)
  if (!isSoak) return

  rpc.setPaused(true)
  configure(ONE)
  service = await prepared.start()
  await until('its accounts are loaded', () => rpc.pending.length > 0)
  t.notOk(await isHealthy(), 'it lacks accounts')
  t.ok(remainingIn('rpc').includes('3'), 'the former one is kept meanwhile')
  t.equal(await service.stop(), 0)

  configure(TWO)
  service = await prepared.start()
  t.match(service.output(), 'the store of before is used again')
  await until('it follows the chain', isHealthy)
  await checkState('3')
  pauseChain()
  t.equal(await service.stop(), 0)
})
