// What another machine may send in place of a copy, over real TLS.
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { SpoolView } from '../../../src/ingest/bootstrap/bootstrap.js'
import { loadPeer } from '../../../src/ingest/bootstrap/load-peer.js'
import { defaults as storeOptions } from '../../../src/native/store-options.js'
import { makeCertificates } from '../../fixtures/cluster/etcd.js'

const BYTES = Buffer.alloc(100_000, 'x')
const LABEL = {
  network: 'main',
  slot: 7,
  blockhash: 'hash',
  bytes: BYTES.length,
  sha256: createHash('sha256').update(BYTES).digest('hex'),
}
const SPOOL: SpoolView = {
  check() {},
  stats: () => ({ first: undefined }) as ReturnType<SpoolView['stats']>,
}

type Answer = (response: ServerResponse, request: IncomingMessage) => void

const sends =
  (label: unknown, bytes: Uint8Array = BYTES): Answer =>
  response => {
    response.writeHead(200, { 'slotline-copy': JSON.stringify(label) })
    response.end(bytes)
  }

const refuses =
  (status: number): Answer =>
  response =>
    void response.writeHead(status).end('{}')

const open = async (t: Test, dir: string, name: string, answer: Answer): Promise<string> => {
  const file = (suffix: string): Buffer => readFileSync(join(dir, `${name}${suffix}`))
  const server = createServer(
    {
      cert: file('.pem'),
      key: file('.key'),
      ca: readFileSync(join(dir, 'ca.pem')),
      requestCert: true,
    },
    (request, response) => answer(response, request),
  )
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const CASES: readonly [name: string, answer: Answer, message: RegExp][] = [
  ['nothing that is a store', sends(LABEL), /data\.mdb|MDB_|store|invalid/i],
  ['another hash', sends({ ...LABEL, sha256: 'ab' }), /is not what it announced/],
  ['too little', sends(LABEL, BYTES.subarray(1)), /is not what it announced/],
  ['too much', sends(LABEL, Buffer.concat([BYTES, BYTES])), /sends more than it announced/],
  ['another network', sends({ ...LABEL, network: 'dev' }), /sends no copy: its answer is 200/],
  ['no label', sends({ slot: 7 }), /sends no copy: its answer is 200/],
  ['more than the disk has', sends({ ...LABEL, bytes: 2 ** 60 }), /free|space/],
  ['no store', refuses(404), /fra-1 has no store of network main/],
  ['a copy for another', refuses(503), /fra-1 makes a copy for another machine: try again/],
  ['a failure', refuses(500), /its answer is 500/],
  ['a reset', response => void response.destroy(), /other side closed|ECONNRESET/],
  [
    'half, then silence',
    response => {
      response.writeHead(200, { 'slotline-copy': JSON.stringify(LABEL) })
      response.write(BYTES.subarray(500))
    },
    /Body Timeout|terminated/i,
  ],
]

t.test('a peer that sends something else is refused', async t => {
  const dir = t.testdir()
  makeCertificates(dir)
  const read = (name: string): Buffer => readFileSync(join(dir, name))
  const identity = { ca: read('ca.pem'), cert: read('fra-2.pem'), key: read('fra-2.key') }
  let count = 0
  const load = (url: string, signal = new AbortController().signal) => {
    const target = join(dir, `store-${count++}`)
    const loading = loadPeer({
      ...{ machine: 'fra-1', url, identity, network: 'main', storeOptions },
      diskReserveBytes: 0,
      options: { peerCopyMs: 500, peerSilenceMs: 500 },
    })
    return loading.load(target, SPOOL, () => {}, signal)
  }
  for (const [name, answer, message] of CASES)
    await t.rejects(load(await open(t, dir, 'fra-1', answer)), { message }, name)
  const other = await open(t, dir, 'nyc-1', sends(LABEL))
  await t.rejects(load(other), { message: /not the certificate of fra-1/ })
  const silent = await open(t, dir, 'fra-1', () => {})
  await t.rejects(load(silent), { message: /Headers Timeout/ })
  const stop = new AbortController()
  const loading = load(silent, stop.signal)
  stop.abort()
  await t.rejects(loading, { name: 'AbortError' })
  t.notOk(existsSync(join(dir, `store-${count - 1}`)))
})
