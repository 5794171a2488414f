import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import bs58 from 'bs58'
import t, { type Test } from 'tap'
import { isWrittenByBlocks } from '../../../src/sandbox/chain/system/sysvars.js'
import {
  call,
  callText,
  runToEnd,
  startDeployment,
  type Deployment,
} from '../../fixtures/processes/deployment.js'
import { parseExact } from '../../fixtures/rpc/exact-json.js'
import { ownDir } from '../../fixtures/own-dir.js'
import { isSoak } from '../../fixtures/soak.js'
import { SHARED_ABSENT, sharedPath } from '../../fixtures/shared.js'
import type { AccountDump } from '../../fixtures/rpc/store.js'
import { expandFrame } from '../../fixtures/ingest/zstd.js'
import { freePorts } from '../../fixtures/free-ports.js'

/** Keys of one getMultipleAccounts. */
const KEYS_MAX = 50

const keysOf = (value: object): string[] => Object.keys(value).sort()
const statusOf = async (url: string): Promise<number> => {
  const body = '{"jsonrpc":"2.0","id":1,"method":"getLatestBlockhash"}'
  const headers = { 'content-type': 'application/json' }
  return (await fetch(url, { method: 'POST', headers, body })).status
}
const slotOf = async ({ url, description }: Deployment): Promise<number> => {
  const { samples } = description
  const { context } = (await call(url, 'getAccountInfo', [samples['mint']])) as {
    context: { slot: number }
  }
  return context.slot
}
const generationOf = (dataDir: string): string =>
  readFileSync(join(dataDir, 'accounts', 'sandbox', 'CURRENT'), 'utf8').trim()

const checkDescription = ({ description, dataDir, port }: Deployment, t: Test): void => {
  const file = join(dataDir, 'sandbox.json')
  t.equal(statSync(file).mode & 0o777, 0o600, 'sandbox.json is for its owner only')
  t.strictSame(keysOf(description), [
    'adminToken',
    'bundleEngineUrl',
    'dashboardUrl',
    'geyserUrl',
    'identity',
    'landerUrl',
    'locations',
    'machines',
    'metricsUrl',
    'samples',
    'tips',
    'upstreamRpcUrl',
  ])
  const origin = (scheme: string, offset: number) => `${scheme}://127.0.0.1:${port + offset}`
  const token = /\/(slt_[0-9A-Za-z]{38})$/
  for (const [index, id] of ['fra', 'nyc'].entries()) {
    const location = description.locations[index]
    const [, secret] = token.exec(location?.rpcUrl ?? '') ?? []
    const rpcUrl = `${origin('http', 2 * index)}/${secret}`
    const wsUrl = `${origin('ws', 2 * index)}/${secret}`
    const grpcUrl = origin('http', 11 + index)
    t.strictSame(location, { id, rpcUrl, wsUrl, submitUrl: rpcUrl, grpcUrl })
  }
  t.equal(description.locations.length, 2)
  t.match(description.adminToken, /^sla_[A-Za-z0-9_-]{43}$/)
  t.equal(description.metricsUrl, `${origin('http', 5)}/metrics`)
  t.equal(description.dashboardUrl, `${origin('http', 4)}/`)
  t.equal(description.identity.issuer, origin('http', 10))
  t.equal(description.identity.users.length, 3)
  t.equal(description.geyserUrl, origin('http', 6))
  t.equal(description.upstreamRpcUrl, origin('http', 7))
  t.equal(description.landerUrl, origin('http', 8))
  t.equal(description.bundleEngineUrl, origin('http', 9))
  const { lander, service, engine } = description.tips
  t.strictSame([lander.length, service.length, engine.length], [15, 5, 8])
  t.equal(new Set([...lander, ...service, ...engine]).size, 28, 'no tip address is in two classes')
  t.strictSame(keysOf(description.samples), [
    'mint',
    'mint2022',
    'payerSecretKey',
    'program',
    'tokenAccount',
    'wallet',
  ])
}

const isAbsent = sharedPath('accounts') === undefined
t.test('a sandbox keeps accesses over a restart and starts a new chain', async t => {
  const started = performance.now()
  const folder = sharedPath('accounts')
  const accounts = folder === undefined ? [] : ['--account-dir', folder]
  const args = ['--edges', '2', '--slot-ms', '100', ...accounts]
  const first = await startDeployment(t, { args })
  t.comment(`ready after ${Math.round(performance.now() - started)} ms`)
  t.notMatch(first.output(), 'connections are bounded', 'usual limits of open files are enough')
  const [fra, nyc] = first.description.locations

  await t.test(
    'every account of the folder is served as dumped',
    { skip: isAbsent && SHARED_ABSENT },
    async t => {
      const dumps = readdirSync(folder ?? '')
        .map(name => parseExact(readFileSync(join(folder ?? '', name), 'utf8')) as AccountDump)
        .filter(({ pubkey }) => !isWrittenByBlocks(bs58.decode(pubkey)))
      t.ok(dumps.length > 300, `${dumps.length} accounts`)
      for (const encoding of ['base64', 'base64+zstd'])
        for (let at = 0; at < dumps.length; at += KEYS_MAX) {
          const part = dumps.slice(at, at + KEYS_MAX)
          const keys = part.map(({ pubkey }) => pubkey)
          const { value } = (await call(fra.rpcUrl, 'getMultipleAccounts', [
            keys,
            { encoding },
          ])) as {
            value: (AccountDump['account'] | null)[]
          }
          if (encoding === 'base64+zstd')
            for (const account of value)
              if (account !== null) {
                const [frame, name] = account.data
                const plain = expandFrame(Buffer.from(frame, 'base64')).toString('base64')
                Object.assign(account, { data: [plain, name] })
              }
          const expected = part.map(({ account }) =>
            account.lamports === 0
              ? null
              : {
                  lamports: account.lamports,
                  data: [account.data[0], encoding],
                  owner: account.owner,
                  executable: account.executable,
                  rentEpoch: account.rentEpoch,
                  space: Buffer.from(account.data[0], 'base64').length,
                },
          )
          t.strictSame(value, expected, `${encoding}, accounts ${at} and following`)
        }
    },
  )
  checkDescription(first, t)

  const swapped = (url: string, token: string): string => url.replace(/slt_.*$/, token)
  const tokenOf = (url: string): string => url.slice(url.lastIndexOf('/') + 1)
  t.strictSame(
    await Promise.all([
      statusOf(fra.rpcUrl),
      statusOf(nyc.rpcUrl),
      statusOf(swapped(fra.rpcUrl, tokenOf(nyc.rpcUrl))),
      statusOf(swapped(nyc.rpcUrl, tokenOf(fra.rpcUrl))),
    ]),
    [200, 200, 401, 401],
    'a token is valid at its own location only',
  )

  await t.test('a second start with the same data directory is refused', async t => {
    const port = await freePorts()
    const again = ['sandbox', '--port', String(port), '--data-dir', first.dataDir]
    const { code, output } = await runToEnd(t, again)
    t.equal(code, 1)
    t.match(output, /^slotline: another Slotline runs on the data directory [^\n]+\n$/)
  })
  await t.test('a reload and an upgrade are refused', async t => {
    for (const command of ['reload', 'upgrade']) {
      const { output } = await runToEnd(t, [command, '--data-dir', first.dataDir])
      t.equal(output, `slotline: a sandbox does not ${command}: stop it and start it again\n`)
    }
  })
  await t.test('a second start with the same ports is refused', async t => {
    const again = ['sandbox', '--port', String(first.port), '--data-dir', ownDir(t)]
    const { code, output } = await runToEnd(t, again)
    t.equal(code, 1)
    t.match(
      output,
      /^slotline: Cannot listen on 127\.0\.0\.1:\d+ \(--port\): the port is in use\n$/,
    )
    t.equal(await statusOf(fra.rpcUrl), 200, 'the first one keeps running')
  })

  const blockhash = await callText(fra.rpcUrl, 'getLatestBlockhash', [])
  const lastSlot = await slotOf(first)
  const generation = generationOf(first.dataDir)
  const stopping = performance.now()
  t.equal(await first.stop(), 0, 'exit code after SIGTERM')
  const stopMs = Math.round(performance.now() - stopping)
  t.ok(stopMs < 15_000, `ended after ${stopMs} ms`)

  const second = await startDeployment(t, { args: ['--edges', '2'], dataDir: first.dataDir })
  t.strictSame(
    second.description.locations.map(({ rpcUrl }) => tokenOf(rpcUrl)),
    first.description.locations.map(({ rpcUrl }) => tokenOf(rpcUrl)),
    'tokens are kept',
  )
  t.not(generationOf(second.dataDir), generation, 'the index is a new generation')
  t.strictSame(
    readdirSync(join(second.dataDir, 'accounts', 'sandbox'), { withFileTypes: true })
      .filter(entry => entry.isDirectory())
      .map(({ name }) => name),
    [generationOf(second.dataDir)],
    'and the only generation',
  )
  t.ok((await slotOf(second)) < lastSlot, 'the chain is a new one')
  t.not(await callText(second.url, 'getLatestBlockhash', []), blockhash)
  if (!isAbsent) {
    const [name = ''] = readdirSync(folder ?? '')
    const reply = await call(second.url, 'getAccountInfo', [name.replace('.json', '')])
    t.match(reply, { value: null }, 'accounts of the first chain do not exist')
  }
  t.equal(await second.stop(), 0)

  rmSync(join(second.dataDir, 'access.key'))
  await t.rejects(startDeployment(t, { dataDir: second.dataDir }), {
    message: /slotline: .*access\.key is missing; restore it from a backup/,
  })
})

type PortCase = readonly [name: string, port: (first: number) => number]
/** One port of the upstreams; above, all of the service are in use. The others in a soak run. */
const CASES: readonly PortCase[] = [['of the bundle engine', first => first + 9]]
const SOAK_CASES: readonly PortCase[] = [
  ['of an RPC URL', first => first],
  ['of a WebSocket URL', first => first + 3],
  ['of the metrics', first => first + 5],
  ['of the feed', first => first + 6],
  ['of the lander', first => first + 8],
]
for (const [name, portOf] of isSoak ? [...CASES, ...SOAK_CASES] : CASES)
  await t.test(`a port in use (${name}) is a one-line error`, async t => {
    const first = await freePorts()
    const server = createServer().listen(portOf(first), '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => server.close())
    const args = ['sandbox', '--port', String(first), '--data-dir', ownDir(t)]
    const { code, output } = await runToEnd(t, args)
    t.equal(code, 1)
    t.equal(
      output,
      `slotline: Cannot listen on 127.0.0.1:${portOf(first)} (--port): the port is in use\n`,
    )
  })

t.test('an invalid account dump is a one-line error that names it', async t => {
  const dir = ownDir(t, { data: {}, accounts: { 'bad.json': '{"pubkey":' } })
  const port = await freePorts()
  const dirs = ['--data-dir', join(dir, 'data'), '--account-dir', join(dir, 'accounts')]
  const { code, output } = await runToEnd(t, ['sandbox', '--port', String(port), ...dirs])
  t.equal(code, 1)
  t.match(output, /^slotline: [^\n]*bad\.json: not JSON\n$/)
})
