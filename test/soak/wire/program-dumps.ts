import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import bs58 from 'bs58'
import t from 'tap'
import { SHARED_ABSENT, sharedPath } from '../../fixtures/shared.js'
import { applyAccounts, openStore, type AccountDump } from '../../fixtures/rpc/store.js'
import { openWire } from '../../fixtures/rpc/wire.js'

const wire = await openWire(t)

const PROGRAM = 'whirLbMiicVdio4qvUfM5KAg6Ct8VwpYzGff3uctyCc'
const FIRST_SLOT = 9
const MIB = 1024 * 1024

/** Accounts by their keys, in ascending order of the keys' bytes. */
type Dump = ReadonlyMap<string, AccountDump>

const readDump = (file: string): Dump => {
  const rows = gunzipSync(readFileSync(file)).toString().trim().split('\n')
  const accounts = rows.map((row): AccountDump => {
    const [pubkey = '', owner = '', , lamports, , data = ''] = row.split(',')
    const rest = { lamports: Number(lamports), owner, executable: false, rentEpoch: 0 }
    return { pubkey, account: { ...rest, data: [data, 'base64'] } }
  })
  const bytes = new Map(accounts.map(({ pubkey }) => [pubkey, bs58.decode(pubkey)]))
  const bytesOf = (pubkey: string): Uint8Array => bytes.get(pubkey) ?? new Uint8Array()
  accounts.sort((a, b) => Buffer.compare(bytesOf(a.pubkey), bytesOf(b.pubkey)))
  return new Map(accounts.map(dump => [dump.pubkey, dump]))
}

const dataOf = ({ account }: AccountDump): Buffer => Buffer.from(account.data[0], 'base64')
const isSame = (a: AccountDump, b: AccountDump | undefined): boolean =>
  b !== undefined &&
  a.account.lamports === b.account.lamports &&
  a.account.data[0] === b.account.data[0]

/** The differences of two dumps: new or changed accounts, and deleted ones. */
const differences = (from: Dump, to: Dump): { changed: AccountDump[]; deleted: AccountDump[] } => ({
  changed: [...to.values()].filter(dump => !isSame(dump, from.get(dump.pubkey))),
  deleted: [...from.values()]
    .filter(({ pubkey }) => !to.has(pubkey))
    .map(({ pubkey, account }) => ({
      pubkey,
      account: { ...account, lamports: 0, data: ['', 'base64'] },
    })),
})

/** Rows in the shape of a page, as texts. */
const shown = (dumps: Iterable<AccountDump>): string[] =>
  Array.from(dumps, dump => {
    const { lamports, data, owner, executable, rentEpoch } = dump.account
    const space = dataOf(dump).length
    const account = { lamports, data, owner, executable, rentEpoch, space }
    return JSON.stringify({ pubkey: dump.pubkey, account })
  })

type Page = {
  readonly accounts: readonly { readonly pubkey: string }[]
  readonly count: number
  readonly paginationKey: string | null
}

/** All pages joined. Checks each page (contract: page-keys). */
const readPages = async (t: Tap, limit: number, config: object = {}): Promise<string[]> => {
  const rows: string[] = []
  for (let paginationKey: string | null = null; ;) {
    const params = [PROGRAM, { ...config, limit, paginationKey }]
    const call = { jsonrpc: '2.0', id: 1, method: 'getProgramAccountsV2', params }
    const { result } = JSON.parse(await wire.askText(JSON.stringify(call))) as { result: Page }
    const { accounts, count } = result
    const last = accounts.at(-1)?.pubkey ?? null
    const key = accounts.length === limit ? last : null
    if (count !== accounts.length || count > limit || result.paginationKey !== key)
      t.fail(`page of ${limit} after ${paginationKey}: ${count}, ${result.paginationKey}`)
    rows.push(...accounts.map(account => JSON.stringify(account)))
    if (result.paginationKey === null) return rows
    paginationKey = result.paginationKey
  }
}
type Tap = { fail(message: string): unknown; ok(isTrue: boolean, message: string): unknown }

/** Like strictSame of arrays, but reports only the first difference. */
const areRows = (t: Tap, rows: readonly string[], expected: readonly string[], name: string) => {
  const at = rows.findIndex((row, index) => row !== expected[index])
  const isEqual = rows.length === expected.length && at === -1
  t.ok(isEqual, `${name}: ${rows.length} of ${expected.length}, first other at ${at}`)
}

const files = [139_535_179, 144_285_804].map(slot =>
  sharedPath(`program-dumps/whirlpool-snapshot-${slot}.csv.gz`),
)
const isAbsent = files.includes(undefined)
t.test(
  'the accounts of a real program are returned at two slots',
  { skip: isAbsent && SHARED_ABSENT },
  async t => {
    const [first, second] = files.map(file => readDump(file ?? ''))
    if (first === undefined || second === undefined) return
    const { changed, deleted } = differences(first, second)
    t.strictSame([first.size, second.size], [5_180, 6_441])
    t.ok(
      changed.length > 1_000 && deleted.length > 100,
      `${changed.length} differ, ${deleted.length} deleted`,
    )

    const { indexer, reader } = openStore(t)
    wire.serve(reader)
    const rssBefore = process.memoryUsage.rss()
    const blocks: [dump: Dump, updates: readonly AccountDump[]][] = [
      [first, [...first.values()]],
      [second, [...deleted, ...changed]],
    ]
    for (const [index, [dump, updates]] of blocks.entries()) {
      applyAccounts(indexer, updates, FIRST_SLOT + index)
      const expected = shown(dump.values())
      for (const limit of [97, 1_000, dump.size - 1, dump.size, dump.size + 1, 10_000])
        areRows(t, await readPages(t, limit), expected, `block ${index}, pages of ${limit}`)
    }
    t.strictSame(indexer.check(), [])

    const changes: [since: number, expected: readonly string[]][] = [
      [FIRST_SLOT - 1, shown(second.values())],
      [FIRST_SLOT, shown(changed)],
      [FIRST_SLOT + 1, []],
    ]
    for (const [changedSinceSlot, expected] of changes)
      for (const limit of [250, 10_000]) {
        const rows = await readPages(t, limit, { changedSinceSlot })
        areRows(t, rows, expected, `changed since ${changedSinceSlot}, pages of ${limit}`)
      }

    const kinds = new Map<string, AccountDump[]>()
    for (const dump of second.values()) {
      const kind = dataOf(dump).subarray(0, 8).toString('hex')
      kinds.set(kind, [...(kinds.get(kind) ?? []), dump])
    }
    t.ok(kinds.size >= 4, `${kinds.size} discriminators`)
    for (const [kind, dumps] of kinds) {
      const bytes = Buffer.from(kind, 'hex')
      const memcmp = { offset: 0, bytes: bs58.encode(bytes) }
      const inBase64 = { offset: 0, bytes: bytes.toString('base64'), encoding: 'base64' }
      const expected = shown(dumps)
      areRows(t, await readPages(t, 10_000, { filters: [{ memcmp }] }), expected, kind)
      areRows(t, await readPages(t, 90, { filters: [{ memcmp: inBase64 }] }), expected, kind)
      const since = { filters: [{ memcmp }], changedSinceSlot: FIRST_SLOT }
      const recent = dumps.filter(dump => !isSame(dump, first.get(dump.pubkey)))
      areRows(t, await readPages(t, 10_000, since), shown(recent), `${kind}, changed`)
      const sizes = new Set(dumps.map(dump => dataOf(dump).length))
      for (const dataSize of sizes) {
        const filters = [{ dataSize }, { memcmp }]
        const ofSize = dumps.filter(dump => dataOf(dump).length === dataSize)
        areRows(t, await readPages(t, 10_000, { filters }), shown(ofSize), `${kind}, ${dataSize}`)
      }
    }
    // 13 MB of data are read a dozen times: memory must not grow with the number of reads.
    const grownMib = (process.memoryUsage.rss() - rssBefore) / MIB
    t.ok(grownMib < 600, `${Math.round(grownMib)} MiB more than before`)
    t.equal(reader.poolStats().replyBytesInFlight, 0)
  },
)
