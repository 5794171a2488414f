import { createServer } from 'node:http'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { LoadedArchive, StoreLoader } from '../../../src/native/loader.js'
import { createFindBlock } from '../../../src/ingest/accounts-rpc/find-block.js'
import { defaults as rpcDefaults } from '../../../src/ingest/accounts-rpc/options.js'
import { defaults as archive } from '../../../src/ingest/bootstrap/archive-options.js'
import { loadIncremental } from '../../../src/ingest/bootstrap/load-incremental.js'
import { defaults } from '../../../src/ingest/bootstrap/options.js'
import { listen } from '../../fixtures/listen.js'

const [BASE, TIP, SLOT] = [100, 200, 5_000]
const HASHES = ['4', '2', '3', '1'].map(one => one.repeat(32))
const [TIP_HASH = '', RECENT = '', OTHER = '', SLOT_HASH = ''] = HASHES

const ARCHIVE: LoadedArchive = {
  baseSlot: BASE,
  slot: SLOT,
  parentSlot: SLOT - 1,
  blockHeight: SLOT,
  blockhash: SLOT_HASH,
  recentBlockhashes: [RECENT, SLOT_HASH],
  epoch: 0,
  entries: 0,
}

const never = (): never => {
  throw new Error('not expected')
}

/** What an upstream RPC answers to `getBlock`; what it was asked. */
const openUpstream = async (t: Test, answer: object) => {
  const asked: unknown[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', chunk => (body += String(chunk)))
    request.on('end', () => {
      const { method, params } = JSON.parse(body)
      asked.push([method, ...params])
      response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, ...answer }))
    })
  })
  const port = await listen(t, server)
  const endpoint = `http://127.0.0.1:${port}/secret`
  const findBlock = createFindBlock({ ...rpcDefaults, endpoint, attemptsMax: 1 })
  return { asked, findBlock }
}

/** Loads onto a store whose tip has this hash. Returns the hash that the loader is told of. */
const load = async (
  t: Test,
  { blockhash, answer }: { readonly blockhash: string; readonly answer?: object },
) => {
  const upstream = answer === undefined ? undefined : await openUpstream(t, answer)
  const dir = t.testdir()
  const location = join(dir, `incremental-snapshot-${BASE}-${SLOT}-${SLOT_HASH}.tar.zst`)
  writeFileSync(location, '')
  const told: (string | undefined)[] = []
  const loader: StoreLoader = {
    loadArchive: async () => ARCHIVE,
    endedArchive: never,
    push: never,
    counts: () => ({ versions: 0, kept: 0, tombstones: 0, outOfScope: 0, runBytes: 0 }),
    progress: () => ({ bytesRead: 0, entries: 0, rowsMerged: 0, rowsTotal: 0, superseded: 0 }),
    finish: never,
    update: async (_copyDir, _dir, _fromSlot, _base, known) => {
      told.push(known)
      return { accounts: 0, dataBytes: 0, superseded: 0, fileBytes: 0, runBytes: 0 }
    },
    finishDry: never,
    cancel: () => {},
    close: () => {},
  }
  const loading = loadIncremental({
    location,
    openLoader: () => loader,
    live: () => ({
      tip: () => ({ slot: TIP, blockhash }),
      stats: () => ({ usedBytes: 1 }),
      copyTo: async () => {},
    }),
    copyDir: join(dir, 'copy'),
    options: { ...defaults, archive },
    findBlock: upstream?.findBlock,
  })
  const stats = () => ({ first: undefined, lastSlot: undefined, blocks: 0, bytes: 0 })
  const spool = { stats, check: () => {} } as unknown as Parameters<typeof loading.load>[1]
  await loading.load(join(dir, 'new'), spool, () => {}, new AbortController().signal)
  return { told, asked: upstream?.asked }
}

const blockOf = (blockhash: string) => ({
  result: { blockhash, previousBlockhash: OTHER, parentSlot: TIP - 1, blockHeight: 1 },
})

t.test('a store that ends among the last blocks of the archive asks nobody', async t => {
  t.strictSame(await load(t, { blockhash: RECENT, answer: blockOf(OTHER) }), {
    told: [undefined],
    asked: [],
  })
})

t.test('of an older block the upstream RPC tells that the chain has it', async t => {
  const { told, asked } = await load(t, { blockhash: TIP_HASH, answer: blockOf(TIP_HASH) })
  t.strictSame(told, [TIP_HASH])
  t.match(asked, [['getBlock', TIP, { commitment: 'finalized', transactionDetails: 'none' }]])
})

const REFUSED: [name: string, answer: object | undefined, reason: RegExp][] = [
  ['no upstream RPC', undefined, /of another fork or too old; with networks\.accountsRpc/],
  ['another block', blockOf(OTHER), /of another fork, the upstream RPC has block 3{32} in/],
  ['no block', { result: null }, /of another fork, the upstream RPC has no finalized block/],
  ['no blockhash', { result: { blockhash: 5 } }, /the upstream RPC has no finalized block/],
  [
    'a skipped slot',
    { error: { code: -32_007, message: 'Slot 200 was skipped' } },
    /is not known: getBlock for slot 200: the upstream answers -32007/,
  ],
  [
    'a block that was removed, and its key',
    { error: { code: -32_001, message: 'cleaned up at /secret' } },
    /is not known: getBlock for slot 200: the upstream answers -32001 cleaned up at \[redacted\]/,
  ],
  ['an endless answer', { result: { blockhash: 'x'.repeat(1_000_000) } }, /is not known/],
]
for (const [name, answer, reason] of REFUSED)
  t.test(`a store is not brought up to date: ${name}`, t =>
    t.rejects(load(t, { blockhash: TIP_HASH, ...(answer && { answer }) }), { message: reason }),
  )
