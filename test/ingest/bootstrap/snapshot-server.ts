import { createReadStream, mkdirSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:https'
import type { Socket } from 'node:net'
import { basename, join } from 'node:path'
import t, { type Test } from 'tap'
import { startSandboxChain } from '../../../src/sandbox/sandbox-chain.js'
import { defaults as archive } from '../../../src/ingest/bootstrap/archive-options.js'
import { askHead } from '../../../src/ingest/bootstrap/snapshot-server.js'
import { repositoryPath } from '../../fixtures/repository.js'
import { examineStore } from '../../fixtures/sandbox/chain-state.js'
import { runToEnd } from '../../fixtures/processes/deployment.js'
import { listen } from '../../fixtures/listen.js'
import { prepareServe } from '../../fixtures/processes/serve.js'
import { recordChain } from '../../fixtures/ingest/snapshot-archive.js'

const TLS = repositoryPath('native/ingest/tests/geyser_reader/tls/')
/** A self-signed certificate of 127.0.0.1. */
const CA_FILE = join(TLS, 'cert.pem')
const SECRET = 'api-key=qzx11'

/** Serves one archive over TLS. A transfer from the beginning is reset after some bytes. */
const serveInTls = async (t: Test, archive: string) => {
  const ranges: (string | undefined)[] = []
  let cutAt = Infinity
  const server = createServer({
    cert: readFileSync(CA_FILE),
    key: readFileSync(join(TLS, 'key.pem')),
  })
  const sockets = new Map<number, Socket>()
  server.on('connection', (socket: Socket) => sockets.set(socket.remotePort ?? 0, socket))
  server.on('request', (request, response) => {
    const name = `/${basename(archive)}`
    if (!request.url?.startsWith(name))
      return void response.writeHead(302, { location: `${name}?${SECRET}` }).end()
    const { size } = statSync(archive)
    const { range, 'if-range': ifRange } = request.headers
    if (request.method === 'HEAD')
      return void response.writeHead(200, { 'content-length': size }).end()
    ranges.push(range)
    const start = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0)
    const isPart = range !== undefined && ifRange === '"one"'
    response.writeHead(isPart ? 206 : 200, {
      etag: '"one"',
      'content-length': size - start,
      ...(isPart && { 'content-range': `bytes ${start}-${size - 1}/${size}` }),
    })
    const isCut = start === 0 && cutAt < size
    const body = createReadStream(archive, isCut ? { end: cutAt - 1 } : { start })
    body.pipe(response, { end: !isCut })
    if (!isCut) return
    const raw = sockets.get(request.socket.remotePort ?? 0)
    // Delays the reset, which would discard bytes that have not arrived.
    body.on('end', () => setTimeout(() => raw?.resetAndDestroy(), 200))
  })
  const port = await listen(t, server)
  return { url: `https://127.0.0.1:${port}`, ranges, cut: (at: number) => (cutAt = at) }
}

t.test('a snapshot over https from a server with a private certificate authority', async t => {
  const chain = await startSandboxChain({ slotMs: 40, trafficPerSecond: 50 })
  t.teardown(() => chain.close())
  const record = await recordChain(chain)
  t.teardown(() => record.close())
  const feed = { endpoint: chain.geyserUrl }
  const prepared = await prepareServe(
    t,
    { one: feed, other: feed },
    {
      bootstrap: { pollMs: 50, firstBlockMs: 10_000 },
      networks: [
        { id: 'one', feed, snapshotsCaFile: CA_FILE },
        { id: 'other', feed },
      ],
    },
  )
  const archives = join(prepared.dataDir, '..', 'archives')
  mkdirSync(archives)
  const snapshot = await record.writeRecent(archives)
  const { size } = statSync(snapshot)
  const { cut, ranges, url } = await serveInTls(t, snapshot)
  const load = (source: string, network: string, ...more: readonly string[]) => {
    const args = ['--config', prepared.configFile, '--network', network]
    return runToEnd(t, ['snapshot', 'load', source, ...args, ...more])
  }
  const counts = (output: string): string =>
    /slot \d+, .* while it is loaded/.exec(output)?.[0] ?? output

  const source = `${url}/snapshot.tar.bz2?${SECRET}`
  const signal = AbortSignal.timeout(5_000)
  const resolveMs = 5_000
  await t.rejects(askHead(source, { archive, resolveMs }, signal), {
    message: 'DEPTH_ZERO_SELF_SIGNED_CERT',
  })
  const caCertificatePem = readFileSync(CA_FILE, 'utf8')
  const { location } = await askHead(source, { archive, caCertificatePem, resolveMs }, signal)
  t.match(location ?? '', /^\/snapshot-\d+-\w+\.tar\.zst\?/)

  await t.test('a connection that is reset during the transfer', async t => {
    cut(Math.floor(size / 2))
    const dry = await load(source, 'one', '--dry-run')
    t.equal(dry.code, 0, dry.output)
    const ofFile = await load(snapshot, 'one', '--dry-run')
    t.equal(counts(dry.output), counts(ofFile.output), 'the counts equal those of the file')
    t.strictSame(
      ranges,
      [undefined, `bytes=${Math.floor(size / 2)}-`],
      'only the rest is requested again',
    )
    const loaded = await load(source, 'one')
    t.equal(loaded.code, 0, loaded.output)
    t.equal(ranges.length, 4)
    t.notMatch(dry.output + loaded.output, SECRET)
    const { differences, tip } = examineStore(prepared, 'one')
    t.strictSame(differences, [])
    t.ok(tip)
  })

  await t.test('without the certificate authority', async t => {
    const before = ranges.length
    for (const [from, message] of [
      [source, /^slotline: .*: DEPTH_ZERO_SELF_SIGNED_CERT, .* into networks\.snapshotsCaFile$/m],
      [
        `${url}/${basename(snapshot)}?${SECRET}`,
        /TLS fails: .*certificate.* into networks\.snapshotsCaFile$/m,
      ],
    ] as const) {
      const refused = await load(from, 'other')
      t.equal(refused.code, 1)
      t.match(refused.output, message)
      t.notMatch(refused.output, SECRET)
    }
    t.equal(ranges.length, before, 'an untrusted server receives no request')
  })
})
