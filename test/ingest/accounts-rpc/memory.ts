import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import bs58 from 'bs58'
import t from 'tap'
import { Rpc } from '../../../src/ingest/accounts-rpc/client.js'
import { defaults } from '../../../src/ingest/accounts-rpc/options.js'
import { unpackRows } from '../../../src/native/rpc-answer.js'
import { listen } from '../../fixtures/listen.js'

const MIB = 1024 ** 2
const PROGRAM = bs58.encode(Buffer.alloc(32, 9))
const DATA_BYTES = 165
const ROWS_PER_CHUNK = 2_000
const CHUNKS = 300
/** Less than half of the answer: socket buffers, chunks in progress and uncollected garbage. */
const GROWTH_MAX = 80 * MIB

t.test('an answer of 200 MB needs the memory of a few chunks', async t => {
  const account = {
    lamports: 1,
    data: [Buffer.alloc(DATA_BYTES, 7).toString('base64'), 'base64'],
    owner: PROGRAM,
    executable: false,
    rentEpoch: 0,
    space: DATA_BYTES,
  }
  const rows = Array.from({ length: ROWS_PER_CHUNK }, (_, index) => {
    const pubkey = Buffer.alloc(32, 5)
    pubkey.writeUInt32BE(index)
    return JSON.stringify({ pubkey: bs58.encode(pubkey), account })
  })
  // The same chunk each time, so that only the reader's memory is measured.
  const chunk = Buffer.from(`${rows.join(',')},`)
  let bytes = 0
  const server = createServer((request, response) => {
    request.resume()
    void (async () => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.write('{"jsonrpc":"2.0","id":1,"result":{"context":{"slot":9},"value":[')
      for (let sent = 0; sent < CHUNKS; sent += 1) {
        bytes += chunk.length
        if (!response.write(chunk)) await once(response, 'drain')
      }
      response.end(`${rows[0]}]}}`)
    })()
  })
  const port = await listen(t, server)
  const { signal } = new AbortController()
  const rpc = new Rpc({ endpoint: `http://127.0.0.1:${port}` }, defaults, { signal })
  t.teardown(() => rpc.close())

  const before = process.memoryUsage.rss()
  let peak = 0
  let taken = 0
  const question = {
    method: 'getProgramAccounts',
    params: [PROGRAM],
    what: 'a program',
    wanted: { kind: 'listed' },
  } as const
  const end = await rpc.ask(question, async packed => {
    for (const { data } of unpackRows(packed)) if (data.length === DATA_BYTES) taken += 1
    peak = Math.max(peak, process.memoryUsage.rss())
    // The consumer is slower than the sender.
    if (taken % 100 === 0) await sleep(1)
  })
  t.ok(bytes > 190 * MIB, `${bytes} bytes`)
  t.equal(taken, CHUNKS * ROWS_PER_CHUNK + 1)
  t.equal(end.rows, taken)
  t.ok(peak - before < GROWTH_MAX, `${Math.round((peak - before) / MIB)} MiB more at the most`)
})
