import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { createServer } from 'node:https'
import { basename, join } from 'node:path'
import bs58 from 'bs58'
import t from 'tap'
import { ADDRESSES } from '../../../src/sandbox/solana/addresses.js'
import { startSandboxChain } from '../../../src/sandbox/sandbox-chain.js'
import { systemAuthorities } from '../../../src/native/system-authorities.js'
import { makeAuthority } from '../../fixtures/ingest/authority.js'
import { examineStore } from '../../fixtures/sandbox/chain-state.js'
import { runToEnd } from '../../fixtures/processes/deployment.js'
import { listen } from '../../fixtures/listen.js'
import { prepareServe } from '../../fixtures/processes/serve.js'
import { recordChain } from '../../fixtures/ingest/snapshot-archive.js'

const SECRET = 'qzx11'

/** Certificate authorities of the system for each process started from here on. */
const trust = (file: string | undefined): void => {
  for (const name of ['SSL_CERT_FILE', 'SSL_CERT_DIR']) delete process.env[name]
  if (file !== undefined) process.env['SSL_CERT_FILE'] = file
}

t.test('configured certificate authorities and those of the system', async t => {
  const { caPem, tls } = makeAuthority()
  const chain = await startSandboxChain({ slotMs: 40, trafficPerSecond: 50 })
  t.teardown(() => chain.close())
  const record = await recordChain(chain)
  t.teardown(() => record.close())
  let archive = ''
  let requestCount = 0
  const files = createServer(tls, (request, response) => {
    requestCount += 1
    const name = `/${basename(archive)}`
    if (!request.url?.startsWith(name))
      return void response.writeHead(302, { location: `${name}?key=${SECRET}` }).end()
    const body = readFileSync(archive)
    response.writeHead(200, { 'content-length': body.length })
    response.end(request.method === 'HEAD' ? undefined : body)
  })
  const rpc = createServer(tls, (incoming, answer) => {
    requestCount += 1
    const { method = 'POST', headers } = incoming
    const { host: _host, ...rest } = headers
    const sent = request(chain.rpc.url, { method, headers: rest }, response => {
      answer.writeHead(response.statusCode ?? 500, response.headers)
      response.pipe(answer)
    })
    incoming.pipe(sent)
  })
  const filesUrl = `https://127.0.0.1:${await listen(t, files)}`
  const rpcUrl = `https://127.0.0.1:${await listen(t, rpc)}`
  const feed = { endpoint: chain.geyserUrl }
  const caFile = join(t.testdir(), 'ca.pem')
  const scope = { programs: [bs58.encode(ADDRESSES.token)] }
  const accountsRpc = { endpoint: `${rpcUrl}/${SECRET}`, requestsPerSecondMax: 1_000 }
  const prepared = await prepareServe(
    t,
    { plain: feed, own: feed },
    {
      bootstrap: { pollMs: 30, firstBlockMs: 10_000 },
      networks: [
        { id: 'plain', feed, scope, accountsRpc },
        {
          id: 'own',
          feed,
          scope,
          accountsRpc: { ...accountsRpc, caFile },
          snapshotsCaFile: caFile,
        },
      ],
    },
  )
  const archives = join(prepared.dataDir, '..', 'archives')
  mkdirSync(archives)
  writeFileSync(caFile, caPem)
  archive = await record.writeRecent(archives)
  t.teardown(() => trust(undefined))

  const source = `${filesUrl}/snapshot.tar.bz2?key=${SECRET}`
  const run = async (network: string, ...words: readonly string[]) => {
    const ended = await runToEnd(t, [
      ...words,
      ...['--config', prepared.configFile, '--network', network],
    ])
    t.notMatch(ended.output, SECRET)
    return ended
  }
  const refused: [name: string, words: string[], message: RegExp][] = [
    [
      'a snapshot',
      ['snapshot', 'load', source],
      /cannot be asked for its newest snapshot: UNABLE_TO_VERIFY_LEAF_SIGNATURE, .* belongs into networks\.snapshotsCaFile$/m,
    ],
    [
      'an upstream RPC',
      ['bootstrap', 'rpc'],
      /: UNABLE_TO_VERIFY_LEAF_SIGNATURE, its certificate is not trusted: the PEM of its authority belongs into networks\.accountsRpc\.caFile$/m,
    ],
  ]
  for (const [name, words, message] of refused) {
    const { code, output } = await run('plain', ...words)
    t.equal(code, 1, name)
    t.match(output, message)
  }
  t.equal(requestCount, 0, 'an untrusted server receives no request')

  const [ofSnapshot = [], ofRpc = []] = refused.map(([, words]) => words)
  await t.test('configured files', async t => {
    for (const words of [ofSnapshot, ofRpc]) {
      const { code, output } = await run('own', ...words)
      t.equal(code, 0, output)
      t.strictSame(examineStore(prepared, 'own').differences, [])
    }
  })

  await t.test('the system', async t => {
    trust(caFile)
    t.strictSame(systemAuthorities(), [caPem])
    for (const words of [ofSnapshot, ofRpc]) {
      const { code, output } = await run('plain', ...words)
      t.equal(code, 0, output)
      t.strictSame(examineStore(prepared, 'plain').differences, [])
    }
    // A configured authority replaces those of the system.
    writeFileSync(caFile, makeAuthority().caPem)
    const other = await run('own', 'snapshot', 'load', source)
    t.equal(other.code, 1, other.output)
  })

  await t.test('a file that is no certificate', async t => {
    trust(undefined)
    writeFileSync(caFile, 'no PEM')
    const none = await run('own', 'bootstrap', 'rpc')
    t.equal(none.code, 1)
    t.match(none.output, /snapshotsCaFile|accountsRpc\.caFile/)
    t.match(none.output, 'contains no certificate')
  })
})
