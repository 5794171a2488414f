import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import bs58 from 'bs58'
import t from 'tap'
import { defaults } from '../../src/rpc/options.js'
import { METHODS } from '../../src/rpc/registry.js'
import { SHARED_ABSENT, sharedPath } from '../fixtures/shared.js'
import { applyAccounts, openStore, type AccountDump } from '../fixtures/rpc/store.js'
import { askText, openDispatch, readVectors, VECTOR_SLOT } from '../fixtures/rpc/vectors.js'

/** Methods whose result is the value itself. */
const PLAIN: ReadonlySet<string> = new Set(['getSlot', 'getBlockHeight', 'getHealth', 'getVersion'])

type Request = { readonly id: unknown; readonly method: string; readonly params?: unknown[] }
type Record = { readonly transport: string; readonly body?: string }
type Answer = {
  readonly jsonrpc: string
  readonly id: unknown
  readonly result?: { readonly context?: unknown; readonly value?: unknown }
  readonly error?: { readonly code: number; readonly message: string }
}

/**
 * Addresses in the recorded sessions: USDC's mint, and a placeholder for a token account.
 */
const MINT = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'
const TOKEN_ACCOUNT = '4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T'
/** The accounts of a vector, with another address for the last one. */
const accountsOf = (method: string, name: string, pubkey: string): AccountDump[] => {
  const accounts = readVectors(method).find(vector => vector.name === name)?.accounts ?? []
  return [
    ...accounts.slice(0, -1),
    ...accounts.slice(-1).map(({ account }) => ({ pubkey, account })),
  ]
}

const expected = (pubkeys: unknown, encoding: unknown): unknown => {
  if (Array.isArray(pubkeys)) return pubkeys.map(pubkey => expected(pubkey, encoding))
  if (pubkeys !== MINT && pubkeys !== TOKEN_ACCOUNT) return null
  return { data: encoding === 'jsonParsed' ? { program: 'spl-token' } : [String, encoding] }
}

const clients = sharedPath('clients')
t.test(
  'recorded requests of client libraries are answered',
  { skip: clients === undefined && SHARED_ABSENT },
  async t => {
    const { indexer, reader } = openStore(t)
    const accounts = [
      ...accountsOf('getTokenSupply', 'mint', MINT),
      ...accountsOf('getTokenAccountBalance', 'token-account', TOKEN_ACCOUNT),
    ]
    applyAccounts(indexer, accounts, VECTOR_SLOT)
    const dispatch = openDispatch(reader.reads(defaults))
    const seen = new Set<string>()
    for (const file of readdirSync(clients ?? '')) {
      const { records } = JSON.parse(readFileSync(join(clients ?? '', file), 'utf8')) as {
        records: Record[]
      }
      for (const { transport, body = '' } of records) {
        if (transport !== 'http' || !body.startsWith('{')) continue
        const { id, method, params = [] } = JSON.parse(body) as Request
        const answer = JSON.parse(await askText(dispatch, body)) as Answer
        const name = `${file} ${body.slice(0, 120)}`
        t.match(answer, { jsonrpc: '2.0', id }, name)
        if (!METHODS.has(method)) {
          t.match(answer, { error: { code: -32601 } }, name)
          continue
        }
        seen.add(method)
        if (PLAIN.has(method)) t.not(answer.result, undefined, name)
        else t.strictSame(answer.result?.context, { slot: VECTOR_SLOT }, name)
        const { encoding } = (params[1] ?? {}) as { encoding?: unknown }
        if (method === 'getAccountInfo' || method === 'getMultipleAccounts')
          t.match(
            { value: answer.result?.value },
            { value: expected(params[0], encoding === 'base64+zstd' ? String : encoding) },
            name,
          )
      }
    }
    t.ok(seen.size >= 6, `methods seen: ${[...seen].join(', ')}`)
  },
)

type Filter = {
  readonly dataSize?: number
  readonly memcmp?: { readonly offset: number; readonly bytes: string }
}
type Workload = {
  readonly params: readonly [program: string, config: { readonly filters?: readonly Filter[] }]
}

const matches = (data: Buffer, { dataSize, memcmp }: Filter): boolean => {
  if (memcmp === undefined) return data.length === dataSize
  const bytes = bs58.decode(memcmp.bytes)
  return data.subarray(memcmp.offset, memcmp.offset + bytes.length).equals(bytes)
}

const workload = sharedPath('workloads/gpa_benchmark_requests.json')
const isAbsent = workload === undefined
t.test(
  'filters of a public benchmark select matching accounts',
  { skip: isAbsent && SHARED_ABSENT },
  async t => {
    const { indexer, reader } = openStore(t)
    const requests = JSON.parse(readFileSync(workload ?? '', 'utf8')) as Workload[]
    const dataOf = new Map<string, [program: string, data: Buffer]>()
    // For each request one account that matches and one that does not. Some filters contradict each
    // other; then neither matches.
    for (const [index, { params }] of requests.entries()) {
      const [program, { filters = [] }] = params
      const compared = filters.flatMap(({ memcmp }) =>
        memcmp === undefined ? [] : [{ offset: memcmp.offset, bytes: bs58.decode(memcmp.bytes) }],
      )
      const end = Math.max(8, ...compared.map(({ offset, bytes }) => offset + bytes.length))
      const data = Buffer.alloc(filters.find(filter => 'dataSize' in filter)?.dataSize ?? end)
      for (const { offset, bytes } of compared) data.set(bytes, offset)
      const keyOf = (name: string) => bs58.encode(createHash('sha256').update(name).digest())
      dataOf.set(keyOf(`matching ${index}`), [program, data])
      dataOf.set(keyOf(`contrary ${index}`), [program, Buffer.from(data.map(byte => byte ^ 0xff))])
    }
    const accounts = Array.from(dataOf, ([pubkey, [owner, data]]): AccountDump => {
      const text = data.toString('base64')
      const account = {
        lamports: 1,
        data: [text, 'base64'],
        owner,
        executable: false,
        rentEpoch: 0,
      } as const
      return { pubkey, account }
    })
    applyAccounts(indexer, accounts, VECTOR_SLOT)
    const dispatch = openDispatch(reader.reads(defaults))
    let rowCount = 0
    for (const { params } of requests) {
      const call = { jsonrpc: '2.0', id: 1, method: 'getProgramAccountsV2', params }
      const { result } = JSON.parse(await askText(dispatch, JSON.stringify(call))) as {
        result: { accounts: { pubkey: string }[] }
      }
      const [program, { filters = [] }] = params
      const expected = [...dataOf]
        .filter(
          ([, [owner, data]]) =>
            owner === program && filters.every(filter => matches(data, filter)),
        )
        .map(([pubkey]) => pubkey)
      rowCount += expected.length
      t.strictSame(
        result.accounts.map(({ pubkey }) => pubkey).sort(),
        expected.sort(),
        JSON.stringify(params),
      )
    }
    t.ok(rowCount >= requests.length / 2, `${rowCount} rows`)
  },
)
