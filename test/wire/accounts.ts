import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import bs58 from 'bs58'
import t from 'tap'
import { parseExact } from '../fixtures/rpc/exact-json.js'
import { SHARED_ABSENT, sharedPath } from '../fixtures/shared.js'
import { applyAccounts, openStore, type AccountDump } from '../fixtures/rpc/store.js'
import { openWire, type Wire } from '../fixtures/rpc/wire.js'

const wire = await openWire(t)

const readAll = <T>(dir: string): [file: string, content: T][] =>
  readdirSync(dir).map(file => [file, parseExact(readFileSync(join(dir, file), 'utf8')) as T])

type Data = readonly [text: string, encoding: string] | { readonly parsed: Parsed }
type Parsed = { readonly info: { readonly tokenAmount?: { readonly decimals: number } } }
type Account = Omit<AccountDump['account'], 'data'> & { readonly data: Data }
type Reply<T> = { readonly result: { readonly value: T } }

const call = (method: string, ...params: unknown[]): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
const accountOf = async ({ ask }: Wire, pubkey: string, encoding: string): Promise<unknown> =>
  ((await ask(call('getAccountInfo', pubkey, { encoding }))) as Reply<unknown>).result.value

/** An account in the shape of a reply. */
const shown = ({ account }: AccountDump, data: unknown): unknown => {
  const { lamports, owner, executable, rentEpoch } = account
  const space = Buffer.from(account.data[0], 'base64').length
  return { lamports, data, owner, executable, rentEpoch, space }
}

const dumps = sharedPath('accounts')
t.test('every real account is returned unchanged', { skip: !dumps && SHARED_ABSENT }, async t => {
  const accounts = readAll<AccountDump>(dumps ?? '').map(([, dump]) => dump)
  t.equal(accounts.length, 364)
  const { indexer, reader } = openStore(t)
  applyAccounts(indexer, accounts, 9)
  const bytesOf = ({ account }: AccountDump) => Buffer.from(account.data[0], 'base64')
  const cases: [encoding: string, dataOf: (dump: AccountDump) => unknown][] = [
    ['base64', ({ account }) => account.data],
    ['base64+zstd', dump => ['expanded', bytesOf(dump).toString('hex')]],
  ]
  for (const fastLane of [true, false]) {
    wire.serve(reader, { fastLane })
    for (const [encoding, dataOf] of cases) {
      const wrong: string[] = []
      for (const dump of accounts) {
        const value = await accountOf(wire, dump.pubkey, encoding)
        // An account with 0 lamports does not exist.
        const expected = dump.account.lamports === 0 ? null : shown(dump, dataOf(dump))
        if (JSON.stringify(value) !== JSON.stringify(expected)) wrong.push(dump.pubkey)
      }
      t.strictSame(wrong, [], `${encoding}, fast lane ${fastLane}`)
    }
  }
  const keys = accounts.map(({ pubkey }) => pubkey)
  const { result } = (await wire.ask(call('getMultipleAccounts', keys))) as Reply<unknown[]>
  const expected = accounts.map(dump =>
    dump.account.lamports === 0 ? null : shown(dump, dump.account.data),
  )
  t.ok(JSON.stringify(result.value) === JSON.stringify(expected), 'all of them in one request')
})

/** A recorded reply, and the bytes of the account where they are known. */
type Sample = {
  readonly pubkey: string
  readonly raw: (AccountDump['account'] & { readonly same_state: boolean }) | null
  readonly parsed: Account
}

const TOKENS = new Set([
  'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
  'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb',
])

/** The mint of a token account that was recorded without it, with the decimals of the reply. */
const mintOf = ({ owner, data }: AccountDump['account'], parsed: Account): AccountDump[] => {
  const amount = 'parsed' in parsed.data ? parsed.data.parsed.info.tokenAmount : undefined
  if (amount === undefined) return []
  const mint = Buffer.alloc(82)
  mint.set([amount.decimals, 1], 44)
  const pubkey = bs58.encode(Buffer.from(data[0], 'base64').subarray(0, 32))
  const account = { lamports: 1, executable: false, rentEpoch: 0, owner } as const
  return [{ pubkey, account: { ...account, data: [mint.toString('base64'), 'base64'] } }]
}

/** Replaces leaves by their type, which does not depend on the slot. */
const shape = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(shape)
  if (typeof value !== 'object' || value === null) return value === null ? null : typeof value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shape(member)]))
}

const samples = sharedPath('json-parsed')
t.test('jsonParsed replies equal recorded ones', { skip: !samples && SHARED_ABSENT }, async t => {
  let comparedCount = 0
  for (const [file, { pubkey, raw, parsed }] of readAll<Sample>(samples ?? '')) {
    if (raw === null) continue
    await t.test(file, async t => {
      const { indexer, reader } = openStore(t)
      applyAccounts(indexer, [...mintOf(raw, parsed), { pubkey, account: raw }], 9)
      wire.serve(reader)
      const account = (await accountOf(wire, pubkey, 'jsonParsed')) as Account
      // Only token accounts and mints are parsed.
      const data = TOKENS.has(raw.owner) ? parsed.data : raw.data
      if (raw.same_state) t.strictSame(account, { ...parsed, data })
      else t.strictSame(shape(account.data), shape(data))
    })
    comparedCount++
  }
  t.equal(comparedCount, 8)
})
