import bs58 from 'bs58'
import t from 'tap'
import { ADDRESSES } from '../../../src/sandbox/solana/addresses.js'
import {
  compileTransaction,
  writableSigner,
} from '../../../src/sandbox/solana/compile-transaction.js'
import { startSandboxChain } from '../../../src/sandbox/sandbox-chain.js'
import { key } from '../../fixtures/sandbox/sandbox.js'
import { prepareServe } from '../../fixtures/processes/serve.js'
import { until } from '../../fixtures/until.js'

const ASSIGN = Buffer.alloc(36)
ASSIGN.writeUInt32LE(1)
ASSIGN.set(ADDRESSES.token2022, 4)

t.test('a service corrects missed changes and prints no secret of the RPC', async t => {
  const sandbox = await startSandboxChain({ slotMs: 0 })
  t.teardown(() => sandbox.close())
  const { chain } = sandbox
  const given = key('given away')
  chain.airdrop(given.publicKey, 1_000_000_000n)
  const feed = { endpoint: sandbox.geyserUrl, startSlot: 1 }
  const accountsRpc = {
    endpoint: `${sandbox.rpc.url}/path-qzx11`,
    credential: 'canary-qzx12',
    sweepKeysPerSecond: 10_000,
    requestsPerSecondMax: 20,
  }
  const scope = { programs: [bs58.encode(ADDRESSES.system)] }
  const prepared = await prepareServe(
    t,
    { one: feed },
    { networks: [{ id: 'one', feed, scope, accountsRpc }], processes: { edgeCount: 1 } },
  )
  chain.tick()
  const service = await prepared.start()
  const read = async (): Promise<string> => {
    const params = [bs58.encode(given.publicKey)]
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getBalance', params })
    const headers = { 'content-type': 'application/json' }
    return (await fetch(prepared.urlOf('one'), { method: 'POST', headers, body })).text()
  }
  const isStored = async (): Promise<boolean> => (await read()).includes('"value":1000000000')
  await until('the account is in the index', isStored)
  const instruction = {
    programId: ADDRESSES.system,
    accounts: [writableSigner(given.publicKey)],
    data: ASSIGN,
  }
  chain.send(compileTransaction([instruction], [given], bs58.decode(chain.tip.blockhash)))
  // Each block applies the corrections found before it.
  await until('the sweep has found it', async () => {
    chain.tick()
    return !(await isStored())
  })
  t.match(await read(), 'account outside indexed scope')
  const metrics = async () => (await fetch(prepared.metricsUrl)).text()
  await until('it is counted', async () =>
    /slotline_sweep_corrected_total\{[^}]*network="one"[^}]*\} [1-9]/.test(await metrics()),
  )
  t.match(service.output(), /sweep corrected \d+ accounts that the feed had missed/)
  t.notMatch(service.output() + (await metrics()), /qzx1\d/)
  t.equal(await service.stop(), 0)
})
