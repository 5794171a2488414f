import { createServer } from 'node:http'
import { join } from 'node:path'
import bs58 from 'bs58'
import t from 'tap'
import { startSandboxChain } from '../../../src/sandbox/sandbox-chain.js'
import { createTransfers } from '../../../src/sandbox/chain/traffic.js'
import { listen } from '../../fixtures/listen.js'
import { runToEnd } from '../../fixtures/processes/deployment.js'
import { prepareServe } from '../../fixtures/processes/serve.js'
import { recordChain } from '../../fixtures/ingest/snapshot-archive.js'
import { soakSubtest } from '../../fixtures/soak.js'
import { until } from '../../fixtures/until.js'

const INCOMPLETE = { code: -32603, message: 'The index is not complete yet' }
const NOWHERE = bs58.encode(new Uint8Array(32).fill(7))
const SETTINGS = { pollMs: 30, firstBlockMs: 20_000, snapshotPollMs: 100, snapshotWaitMs: 20_000 }

type Answer = { readonly result?: { readonly value: unknown }; readonly error?: object }

const post = async (url: string, body: string): Promise<unknown> => {
  const headers = { 'content-type': 'application/json' }
  return (await fetch(url, { method: 'POST', headers, body })).json()
}

/** A call in the form that the fast lane takes, in another form, and within a batch. */
const askInEachForm = async (url: string, method: string, params: unknown): Promise<Answer[]> => {
  const call = { jsonrpc: '2.0', id: 1, method, params }
  const [single, spaced, batch] = await Promise.all([
    post(url, JSON.stringify(call)),
    post(url, JSON.stringify(call, undefined, 2)),
    post(url, JSON.stringify([call, { ...call, id: 2, method: 'getSlot', params: [] }])),
  ])
  return [single, spaced, (batch as Answer[])[0]] as Answer[]
}

/** An upstream RPC that answers every call with its method. */
const startUpstream = async (): Promise<string> => {
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', chunk => (body += String(chunk)))
    request.on('end', () => {
      if (request.method !== 'POST') return void response.end()
      const { id, method } = JSON.parse(body) as { id: number; method: string }
      const result = { context: { slot: 1 }, value: { forwarded: method } }
      response.end(JSON.stringify({ jsonrpc: '2.0', result, id }))
    })
  })
  return `http://127.0.0.1:${await listen(t, server)}`
}

/** Networks that read a chain from its live head; `forwarding` also has an upstream RPC. */
const open = async () => {
  const sandbox = await startSandboxChain({ slotMs: 0 })
  t.teardown(() => sandbox.close())
  const { chain, geyserUrl, sampleAccounts } = sandbox
  const record = await recordChain(sandbox)
  t.teardown(() => record.close())
  const transfer = createTransfers(chain, sampleAccounts)
  const tick = (count = 1): void => {
    for (let done = 0; done < count; done += 1) {
      transfer()
      chain.tick()
    }
  }
  tick(4)
  const feed = { endpoint: geyserUrl }
  const prepared = await prepareServe(
    t,
    { alone: feed, forwarding: feed },
    {
      processes: { edgeCount: 1 },
      bootstrap: SETTINGS,
      status: { writeMs: 30, staleMs: 5_000 },
      networks: [
        { id: 'alone', feed },
        { id: 'forwarding', feed, rpc: { upstream: { urls: [await startUpstream()] } } },
      ],
    },
  )
  const slotline = (...args: readonly string[]) =>
    runToEnd(t, [...args, '--config', prepared.configFile])
  const healthUrl = `http://127.0.0.1:${prepared.portOf('fra')}/health`
  const health = async (): Promise<string> => (await fetch(healthUrl)).text()
  const start = async () => {
    const service = await prepared.start()
    // A feed from the live head begins with the next block.
    const timer = setInterval(tick, 60)
    t.teardown(() => clearInterval(timer))
    await until('every network has a block', async () => (await health()) !== 'unknown')
    clearInterval(timer)
    return service
  }
  return { sandbox, chain, record, prepared, slotline, health, start, tick }
}

t.test('a store that began with its feed says so until a bootstrap has loaded it', async t => {
  const { sandbox, chain, record, prepared, slotline, health, start, tick } = await open()
  const { mint, holders } = sandbox.sampleAccounts
  const [url, forwarding] = ['alone', 'forwarding'].map(network => prepared.urlOf(network)) as [
    string,
    string,
  ]
  const old = bs58.encode(mint)
  const wallet = bs58.encode(holders[0]?.wallet.publicKey ?? new Uint8Array(32))
  const token = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
  const clock = 'SysvarC1ock11111111111111111111111111111111'
  const reads: [method: string, params: unknown[]][] = [
    ['getAccountInfo', [old, { encoding: 'base64' }]],
    ['getAccountInfo', [NOWHERE, { encoding: 'jsonParsed' }]],
    ['getMultipleAccounts', [[clock, old], { encoding: 'base64' }]],
    ['getBalance', [old]],
    ['getTokenSupply', [old]],
    ['getTokenLargestAccounts', [old]],
    ['getProgramAccountsV2', [token, { limit: 10 }]],
    ['getTokenAccountsByOwnerV2', [wallet, { programId: token }, { limit: 10 }]],
  ]

  const checkIncomplete = async (): Promise<void> => {
    t.equal(await health(), 'incomplete')
    t.match(await post(url, '{"jsonrpc":"2.0","id":1,"method":"getHealth"}'), {
      error: { code: -32005, data: { numSlotsBehind: null, reason: 'incomplete' } },
    })
    const { code, output } = await slotline('status', '--network', 'alone')
    t.equal(code, 1)
    t.match(output, 'network alone: not healthy: incomplete: ')
    const metrics = await (await fetch(prepared.metricsUrl)).text()
    t.match(metrics, /slotline_store_complete\{[^}]*network="alone"[^}]*\} 0\n/)
    for (const [method, params] of reads)
      for (const answer of await askInEachForm(url, method, params))
        t.match(answer, { error: INCOMPLETE }, `${method} is not answered from half a store`)
    const [known] = await askInEachForm(url, 'getAccountInfo', [clock, { encoding: 'base64' }])
    t.ok(known?.result?.value, 'an account that the feed has sent is answered')
  }

  let service = await start()
  await checkIncomplete()

  for (const [method, params] of reads)
    for (const answer of await askInEachForm(forwarding, method, params))
      if (method.endsWith('V2')) t.match(answer, { error: INCOMPLETE }, `${method} stays here`)
      else t.strictSame(answer.result?.value, { forwarded: method })

  const dir = join(prepared.dataDir, '..')
  const failed = await slotline('snapshot', 'load', prepared.configFile, '--network', 'alone')
  t.equal(failed.code, 1)
  await checkIncomplete()
  await soakSubtest(t, 'a restored backup of it says so too', async t => {
    t.equal((await slotline('backup', '--network', 'alone', '--to', join(dir, 'backup'))).code, 0)
    t.equal(await service.stop(), 0)
    const restored = await slotline('restore', '--network', 'alone', '--from', join(dir, 'backup'))
    t.equal(restored.code, 0, restored.output)
    service = await start()
    t.match((await slotline('status', '--network', 'alone')).output, '(store 2)')
    await checkIncomplete()
  })

  const archive = await record.writeFull(dir, chain.tip.slot)
  for (const network of ['alone', 'forwarding']) {
    const loading = slotline('snapshot', 'load', archive, '--network', network)
    const timer = setInterval(tick, 60)
    const loaded = await loading
    clearInterval(timer)
    t.equal(loaded.code, 0, loaded.output)
    t.match(loaded.output, /\nchecked: .*lamports.*\nnot checked: the lattice hash/)
  }
  await until('the health is ok', async () => (await health()) === 'ok')
  for (const answer of await askInEachForm(url, 'getAccountInfo', [NOWHERE]))
    t.match(answer, { result: { value: null } })
  const [supply] = await askInEachForm(url, 'getTokenSupply', [old])
  t.ok(supply?.result?.value)
  const metrics = await (await fetch(prepared.metricsUrl)).text()
  t.match(metrics, /slotline_store_complete\{[^}]*network="alone"[^}]*\} 1\n/)
  t.equal(await service.stop(), 0)
})
