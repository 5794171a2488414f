// What a service in the usual way has behind its server: npm lmdb with its own encoding, bs58,
// schemas of its replies. It authenticates, checks its parameters and keeps u64 exact, as ours
// does.
import { createHash } from 'node:crypto'
import bs58 from 'bs58'
import { open, type Database } from 'lmdb'
import type { Account, DataSet } from '../data/data.js'
import {
  createExpectedState,
  finalAccounts,
  type ExpectedState,
  type History,
} from '../data/expected-state.js'

/** Parameters of a peer that answers getAccountInfo. */
export type Start = {
  readonly dir: string
  readonly set: DataSet
  readonly history: History
  readonly token: string
}

/** Where it answers. */
export type Listening = { readonly port: number }

/** An account in the store. */
type Stored = Omit<Account, 'pubkey'>

const PUT_BATCH = 50_000

const fill = async (dir: string, expected: ExpectedState): Promise<Database<Stored, Buffer>> => {
  const store = open<Stored, Buffer>({
    path: dir,
    keyEncoding: 'binary',
    noSync: true,
    mapSize: 8 * 1024 ** 3,
  })
  let batch: Account[] = []
  const write = () =>
    store.transactionSync(() => {
      for (const { pubkey, ...account } of batch) store.putSync(pubkey, account)
      batch = []
    })
  for (const account of finalAccounts(expected)) if (batch.push(account) === PUT_BATCH) write()
  write()
  await store.flushed
  return store
}

const ACCOUNT = {
  type: 'object',
  nullable: true,
  properties: {
    lamports: { type: 'integer' },
    data: { type: 'array', items: { type: 'string' } },
    owner: { type: 'string' },
    executable: { type: 'boolean' },
    rentEpoch: { type: 'integer' },
    space: { type: 'integer' },
  },
} as const

/** The reply, with a bigint as an integer. */
export const REPLY = {
  type: 'object',
  properties: {
    jsonrpc: { type: 'string' },
    result: {
      type: 'object',
      properties: {
        context: { type: 'object', properties: { slot: { type: 'integer' } } },
        value: ACCOUNT,
      },
    },
    error: {
      type: 'object',
      properties: { code: { type: 'integer' }, message: { type: 'string' } },
    },
    id: { type: 'integer' },
  },
} as const

/** A JSON-RPC error of the call. */
export class CallError extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

const digestOf = (token: string): string => createHash('sha256').update(token).digest('base64')

/** Fills a store with the data set; tells who may read it, and reads it. */
export const openAccounts = async ({ dir, set, history, token }: Start) => {
  const expected = createExpectedState(set, history)
  const store = await fill(dir, expected)
  const tokens = new Set([digestOf(token)])
  return {
    isKnown: (asked: string): boolean => tokens.has(digestOf(asked)),
    /** The result of getAccountInfo. Throws a `CallError`. */
    accountInfo: (params: unknown) => {
      const text: unknown = Array.isArray(params) ? params[0] : undefined
      if (typeof text !== 'string') throw new CallError(-32602, 'Missing param at index 0')
      const key = bs58.decodeUnsafe(text)
      if (key?.length !== 32) throw new CallError(-32602, 'Invalid param: WrongSize')
      const found = store.get(Buffer.from(key))
      const value = found && {
        lamports: found.lamports,
        data: [found.data.toString('base64'), 'base64'],
        owner: bs58.encode(found.owner),
        executable: found.executable,
        rentEpoch: found.rentEpoch,
        space: found.data.length,
      }
      return { context: { slot: expected.slot }, value: value ?? null }
    },
  }
}
