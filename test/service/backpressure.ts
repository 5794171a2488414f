import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import bs58 from 'bs58'
import t, { type Test } from 'tap'
import { parseConfig } from '../../src/config/config.js'
import { setCurrentGeneration, storesPath } from '../../src/storage/generations.js'
import { toStoreOptions } from '../../src/storage/store-options.js'
import { openIndexer } from '../../src/native/indexer.js'
import { callText } from '../fixtures/processes/deployment.js'
import { prepareServe, type Prepared } from '../fixtures/processes/serve.js'
import { connect, post, splitReplies } from '../fixtures/server/server.js'
import { until } from '../fixtures/until.js'

const PROGRAM = bs58.encode(Buffer.alloc(32, 7))
const ACCOUNTS = 10_000
/** A page exceeds the socket buffers of the operating system. */
const DATA_BYTES = 700
const CLIENTS = 50
const MIB = 1024 ** 2
/** A fraction of what the stalled clients request. */
const IN_FLIGHT_MAX = 64 * MIB
/** Two pages under construction with spare capacity, a chunk per client, and the allocator's. */
const SLACK = 160 * MIB
const STALL_MS = 1_000

const hash = (text: string): Buffer => createHash('sha256').update(text).digest()

const account = (index: number) => ({
  pubkey: hash(`account ${index}`),
  lamports: 2_039_280n,
  rentEpoch: 0xffff_ffff_ffff_ffffn,
  executable: false,
  owner: bs58.decode(PROGRAM),
  data: Buffer.alloc(DATA_BYTES, index),
})

/** Writes a store of one block where the service expects it. */
const writeStore = ({ dataDir, configFile }: Prepared): void => {
  const config = parseConfig(readFileSync(configFile, 'utf8'), configFile, { takesConstants: true })
  const stores = storesPath(dataDir, 'dev')
  setCurrentGeneration(stores, '1')
  const indexer = openIndexer(join(stores, '1'), toStoreOptions(config, 'dev'))
  indexer.applyBlock({
    slot: 7,
    parentSlot: 6,
    blockhash: hash('block 7'),
    parentBlockhash: hash('block 6'),
    blockHeight: 5,
    // A blockhash of an old block is refused.
    blockTime: Math.floor(Date.now() / 1_000),
    accounts: Array.from({ length: ACCOUNTS }, (_, index) => account(index)),
  })
  // Else the indexer takes it for a store that an older release began with its feed.
  indexer.setComplete(true)
  indexer.close()
}

const startEdge = async (t: Test) => {
  // The network has no feed, so its state is constant.
  const prepared = await prepareServe(
    t,
    { dev: { endpoint: 'http://127.0.0.1:1' } },
    {
      processes: { edgeCount: 1 },
      pools: { replyBytesInFlightMax: IN_FLIGHT_MAX },
      server: { replyStallMs: STALL_MS },
      log: { level: 'info' },
    },
  )
  writeStore(prepared)
  const service = await prepared.start()
  const [pid = 0] = service.pidsOf('edge')
  return { prepared, service, pid, url: prepared.urlOf('dev'), port: prepared.portOf('fra') }
}

/** Memory of a process without the pages of mapped files, in bytes. */
const anonymousBytes = (pid: number): number => {
  const [, kib = ''] =
    /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kib) * 1024
}

/** A client that stops reading with the first chunk of its reply. */
const stall = (port: number, request: string) => {
  const socket = createConnection(port, '127.0.0.1')
  socket.on('error', () => {})
  let end = ''
  socket.on('data', chunk => {
    end = (end + chunk.toString('latin1')).slice(-200)
  })
  socket.once('data', () => socket.pause())
  socket.write(request)
  return {
    hasBegun: () => end !== '',
    /** The last bytes received before the server closed the connection. */
    readToEnd: async (): Promise<string> => {
      const closed = socket.closed || once(socket, 'close')
      socket.resume()
      await closed
      return end
    },
  }
}

const PAGE = [PROGRAM, { encoding: 'base64', limit: ACCOUNTS }]
const rowCount = (text: string): number => text.match(/"pubkey"/g)?.length ?? 0

type Edge = Awaited<ReturnType<typeof startEdge>>

const checkStalledClients = async (t: Test, edge: Edge): Promise<void> => {
  const { prepared, service, pid, url, port } = edge
  t.equal(rowCount(await callText(url, 'getProgramAccountsV2', PAGE)), ACCOUNTS)
  const before = anonymousBytes(pid)

  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'getProgramAccountsV2',
    params: PAGE,
  })
  const { pathname } = new URL(url)
  // Of those that are refused the connection ends with the reply, and is not kept until it is idle.
  const bytes = post(pathname, body, ['content-type: application/json', 'connection: close'])
  const stalled = Array.from({ length: CLIENTS }, () => stall(port, bytes))

  let most = 0
  let answered = 0
  let slowestMs = 0
  const point = [bs58.encode(hash('account 1')), { encoding: 'base64' }]
  const hasBegun = (): boolean => stalled.every(({ hasBegun }) => hasBegun())
  const sinceMs = performance.now()
  await until('every client has a part of its reply, or a refusal', async () => {
    const startMs = performance.now()
    const text = await callText(url, 'getAccountInfo', point)
    slowestMs = Math.max(slowestMs, performance.now() - startMs)
    if (text.includes('"lamports":2039280')) answered += 1
    else t.fail(text)
    most = Math.max(most, anonymousBytes(pid))
    return hasBegun()
  })
  // The stalled clients are of the same access, which may take no more than it leaves free.
  let page = ''
  await until('a client that reads gets its page', async () => {
    page = await callText(url, 'getProgramAccountsV2', PAGE)
    return rowCount(page) === ACCOUNTS
  })
  most = Math.max(most, anonymousBytes(pid))
  t.comment(
    `${Math.round((most - before) / MIB)} MiB more after ${Math.round(performance.now() - sinceMs)} ms, ` +
      `${answered} other answers, the slowest after ${Math.round(slowestMs)} ms`,
  )
  const requestedBytes = CLIENTS * page.length
  t.ok(
    requestedBytes > 2 * (IN_FLIGHT_MAX + SLACK),
    `${Math.round(requestedBytes / MIB)} MiB requested`,
  )
  t.ok(most - before < IN_FLIGHT_MAX + SLACK, `${Math.round((most - before) / MIB)} MiB more`)

  await until('the stalled replies are abandoned', async () => {
    const metrics = await (await fetch(prepared.metricsUrl)).text()
    return /^slotline_replies_in_flight_bytes\{process="edge 0"\} 0$/m.test(metrics)
  })
  // The rest of the socket buffers is read to its end.
  const ends = await Promise.all(stalled.map(({ readToEnd }) => readToEnd()))
  t.equal(
    ends.filter(end => end.includes('paginationKey')).length,
    0,
    'no stalled page is complete, and every connection is closed',
  )

  const metrics = await (await fetch(prepared.metricsUrl)).text()
  for (const name of ['bodies_in_flight_bytes', 'replies_in_flight_bytes', 'queue_depth'])
    t.match(metrics, new RegExp(`^slotline_${name}\\{process="edge 0".*\\} 0$`, 'm'))
  t.match(metrics, /^slotline_store_readers\{.*\} 0$/m, 'no read transaction is open')
  t.equal(rowCount(await callText(url, 'getProgramAccountsV2', PAGE)), ACCOUNTS)
  t.equal(service.pidsOf('edge')[0], pid, 'the edge was not restarted')
}

const checkPipelinedReads = async (t: Test, { url, port }: Edge): Promise<void> => {
  const { pathname } = new URL(url)
  const methods: readonly [method: string, params: unknown][] = [
    ['getAccountInfo', [bs58.encode(hash('account 2')), { encoding: 'base64' }]],
    ['getLatestBlockhash', []],
    ['getAccountInfo', [bs58.encode(hash('absent'))]],
    ['getMultipleAccounts', [[bs58.encode(hash('account 3'))]]],
  ]
  const bodies = Array.from({ length: 32 }, (_, id) => {
    const [method, params] = methods[id % methods.length] ?? []
    return JSON.stringify({ jsonrpc: '2.0', id, method, params })
  })
  const connection = await connect(port)
  const type = ['content-type: application/json']
  connection.socket.write(bodies.map(body => post(pathname, body, type)).join(''))
  const received = await connection.until(now => splitReplies(now).length === bodies.length)
  const answers = splitReplies(received).map(({ body }) => JSON.parse(body))
  t.strictSame(
    answers.map(({ id }) => id),
    bodies.map((_, id) => id),
  )
  t.strictSame(
    answers.map(({ result }) => typeof result?.context),
    bodies.map(() => 'object'),
  )
  connection.socket.destroy()
}

t.test('an edge with clients that stop reading', async t => {
  const edge = await startEdge(t)
  await t.test('32 pipelined reads on one connection', t => checkPipelinedReads(t, edge))
  await t.test('clients that stop reading in a page cost little memory', t =>
    checkStalledClients(t, edge),
  )
  t.equal(await edge.service.stop(), 0)
})
