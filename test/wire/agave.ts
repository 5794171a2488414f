import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { METHODS } from '../../src/rpc/registry.js'
import { repositoryPath } from '../fixtures/repository.js'
import { parseExact } from '../fixtures/rpc/exact-json.js'
import { SHARED_ABSENT, sharedPath } from '../fixtures/shared.js'
import { applyAccounts, openStore, type AccountDump } from '../fixtures/rpc/store.js'
import { openWire } from '../fixtures/rpc/wire.js'

const wire = await openWire(t)

/** A request, as a call or as a whole body, and the exact text of the reply. */
type Recorded = {
  readonly method?: string
  readonly params?: unknown
  readonly body?: string
  readonly reply: string
}

const replies = sharedPath('agave/replies.jsonl.gz')
const dumps = sharedPath('accounts')

const readAccounts = (dir: string): AccountDump[] =>
  readdirSync(dir).map(file => parseExact(readFileSync(join(dir, file), 'utf8')) as AccountDump)

const readReplies = (file: string): Recorded[] =>
  gunzipSync(readFileSync(file))
    .toString()
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as Recorded)

/**
 * Rows of the table in `docs/methods.md`: Agave's answer, the answer here, their number, and the
 * reason.
 */
const readDifferences = (): [agave: string, ours: string, count: number, why: string][] => {
  const text = readFileSync(repositoryPath('docs/methods.md'), 'utf8')
  return text
    .slice(text.indexOf('## Replies that differ from Agave'))
    .split('\n')
    .map(line => line.replace(/^\| | \|$/g, '').split(' | '))
    .filter(([, , count]) => Number(count) > 0)
    .map(([agave = '', ours = '', count, why = '']) => [
      toText(agave),
      toText(ours),
      Number(count),
      why,
    ])
}
const toText = (cell: string): string => cell.replace(/^(`+) ?(.*?) ?\1$/, '$2')

/** True where a text matches a row; `<…>` in the row matches any text. */
const fits = (row: string, text: string): boolean => {
  const parts = row.split(/<[^>]*>/).map(part => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`, 's').test(text)
}

type Answer = {
  readonly jsonrpc?: string
  readonly error?: { readonly code: number; readonly message: string }
  readonly result?: { readonly value?: unknown }
}
type Parsed = { readonly program?: string; readonly parsed?: { readonly type?: string } }

/** A reply as the table describes it: its error, or the encoding of the data. */
const nameOf = (reply: unknown): string => {
  if (reply === undefined) return 'an empty body'
  if (Array.isArray(reply)) return 'a reply to each'
  const { jsonrpc, error, result } = reply as Answer
  if (error !== undefined)
    return `${error.code} ${error.message}${jsonrpc === undefined ? ', no jsonrpc' : ''}`
  if (Array.isArray(result?.value)) return 'a list'
  const data = (result?.value as { data?: unknown } | null | undefined)?.data
  if (Array.isArray(data)) return `data in ${String(data[1])}`
  const { program, parsed } = (data ?? {}) as Parsed
  if (program === undefined) return 'a result'
  const isToken = program === 'spl-token' || program === 'spl-token-2022'
  return `parsed ${program} ${parsed?.type}${isToken ? '' : ' of another program'}`
}

/** A reply without its context: the slot and Agave's version. */
const withoutContext = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const { result } = value as { result?: unknown }
  if (typeof result !== 'object' || result === null || !('context' in result)) return value
  return { ...value, result: { ...result, context: undefined } }
}

const MAX = '18446744073709551615n'
const MINT = Buffer.alloc(82)
MINT.writeUInt16LE(0x0109, 44)

/**
 * Accounts of the recorded validator that are not in the dumps: the token program and the native
 * mint.
 */
const OWN: readonly AccountDump[] = [
  {
    pubkey: 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
    account: {
      lamports: 929_020_800,
      data: [Buffer.alloc(133_352).toString('base64'), 'base64'],
      owner: 'BPFLoader2111111111111111111111111111111111',
      executable: true,
      rentEpoch: MAX,
    },
  },
  {
    pubkey: 'So11111111111111111111111111111111111111112',
    account: {
      lamports: 1,
      data: [MINT.toString('base64'), 'base64'],
      owner: 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
      executable: false,
      rentEpoch: MAX,
    },
  },
]

const isAbsent = replies === undefined || dumps === undefined
t.test(
  'replies equal those of Agave, but for the documented differences',
  { skip: isAbsent && SHARED_ABSENT },
  async t => {
    const { indexer, reader } = openStore(t)
    applyAccounts(indexer, [...readAccounts(dumps ?? ''), ...OWN], 120)
    const rows = readDifferences()
    for (const [, , , why] of rows)
      t.match(why, /^\[[\w-]+\]\(contract\.md#/, 'names a rule of the contract')
    for (const fastLane of [true, false]) {
      wire.serve(reader, { fastLane })
      const counts = rows.map(() => 0)
      const unexpected: unknown[] = []
      let comparedCount = 0
      for (const { method = '', params, body, reply } of readReplies(replies ?? '')) {
        if (body === undefined && method !== 'nope' && !METHODS.has(method)) continue
        comparedCount++
        const call = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
        const text = body ?? call
        const answer = await wire.ask(text)
        const ours = withoutContext(answer)
        const agave = withoutContext(reply === '' ? undefined : parseExact(reply))
        if (isDeepStrictEqual(ours, agave)) continue
        const index = rows.findIndex(
          row => fits(row[0], nameOf(agave)) && fits(row[1], nameOf(ours)),
        )
        if (index === -1) unexpected.push({ text, agave, ours })
        else counts[index] = (counts[index] ?? 0) + 1
      }
      t.strictSame(unexpected, [])
      t.strictSame(
        counts,
        rows.map(([, , count]) => count),
        'as often as in the table',
      )
      t.equal(comparedCount, 2_166)
    }
  },
)
