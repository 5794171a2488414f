import bs58 from 'bs58'
import t from 'tap'
import { openChainRpc, SOL } from '../../fixtures/sandbox/chain-rpc.js'
import { TOWER_BFT } from '../../fixtures/sandbox/lanes.js'

const early = (slot: number): string => `-32016 Minimum context slot has not been reached: ${slot}`
const NO_U64 = '-32602 Invalid params: expected u64'

t.test('methods with a minimum slot refuse an earlier one, at their commitment', async t => {
  const { call, chain, transfer } = await openChainRpc(t, {}, TOWER_BFT)
  const sent = (await call('sendTransaction', transfer(SOL).toString('base64'), {
    encoding: 'base64',
    preflightCommitment: 'confirmed',
  })) as string
  for (let count = 0; count < 3; count++) chain.tick()
  const { slot: tip } = chain.tip
  const final = chain.finalizedSlot
  t.ok(final < tip)
  const text = transfer(SOL).toString('base64')
  const message = bs58.encode(Buffer.alloc(1))
  const cases: [method: string, params: unknown[], options: object, slot: number][] = [
    ['getSlot', [], {}, final],
    ['getSlot', [], { commitment: 'confirmed' }, tip],
    ['getEpochInfo', [], {}, final],
    ['getEpochInfo', [], { commitment: 'processed' }, tip],
    ['getTransaction', [sent], {}, final],
    ['getTransaction', [sent], { commitment: 'confirmed' }, tip],
    ['getSignaturesForAddress', ['1'.repeat(32)], {}, final],
    ['getSignatureStatuses', [[sent]], {}, tip],
    ['getSignatureStatuses', [[sent]], { commitment: 'processed' }, tip],
    ['getSignatureStatuses', [[sent]], { commitment: 'finalized' }, final],
    ['simulateTransaction', [text], { encoding: 'base64' }, final],
    ['sendTransaction', [text], { encoding: 'base64' }, final],
    ['sendTransaction', [text], { encoding: 'base64', skipPreflight: true }, tip],
    ['getFeeForMessage', [message], {}, final],
    ['getMultipleAccounts', [[]], { encoding: 'base64' }, tip],
  ]
  for (const [method, params, options, slot] of cases) {
    const ask = (minContextSlot: unknown) => call(method, ...params, { ...options, minContextSlot })
    const name = `${method} ${JSON.stringify(options)}`
    for (const over of [slot + 1, 2 ** 53, 2 ** 64]) t.equal(await ask(over), early(slot), name)
    for (const wrong of [-1, 1.5, '1', [], {}, true, 2 ** 65])
      t.equal(await ask(wrong), NO_U64, name)
    const reached = await ask(slot)
    if (typeof reached === 'string') t.notMatch(reached, '-32016', name)
  }
})

t.test('a status is of the commitment that was asked for', async t => {
  const { call, chain, transfer } = await openChainRpc(t, {}, TOWER_BFT)
  const text = transfer(SOL).toString('base64')
  const sent = await call('sendTransaction', text, {
    encoding: 'base64',
    preflightCommitment: 'confirmed',
  })
  const at = async (commitment?: string) => {
    const found = await call('getSignatureStatuses', [sent], { commitment })
    return (found as { value: ({ confirmationStatus: string } | null)[] }).value[0]
      ?.confirmationStatus
  }
  t.equal(await at(), 'processed')
  t.equal(await at('confirmed'), undefined)
  chain.tick()
  t.equal(await at('confirmed'), 'confirmed')
  t.equal(await at('finalized'), undefined)
  for (let count = 0; count < 32; count++) chain.tick()
  t.equal(await at('finalized'), 'finalized')
})

t.test('a signature to begin or to end at must be known', async t => {
  const { call } = await openChainRpc(t)
  const unknown = bs58.encode(Buffer.alloc(64, 7))
  for (const options of [{ before: unknown }, { until: unknown }])
    t.equal(
      await call('getSignaturesForAddress', '1'.repeat(32), options),
      `-32020 Transaction ${unknown} not found`,
    )
})

t.test('getAgGenesisCert tells Alpenglow, TowerBFT and an older node apart', async t => {
  const { call, chain } = await openChainRpc(t)
  const blockId = [...bs58.decode(chain.blockhashOf(chain.options.firstSlot - 1))]
  t.strictSame(await call('getAgGenesisCert'), {
    block: { slot: chain.options.firstSlot - 1, blockId },
    signature: { signature: Array(192).fill(0), bitmap: [] },
  })
  const tower = await openChainRpc(t, {}, TOWER_BFT)
  t.equal(await tower.call('getAgGenesisCert'), null)
  const old = await openChainRpc(t, { unserved: ['getAgGenesisCert'] })
  t.equal(await old.call('getAgGenesisCert'), '-32601 Method not found')
})
