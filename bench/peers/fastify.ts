// getAccountInfo written in the usual way: Fastify with schemas for requests and
// replies, npm lmdb with its own encoding, bs58. It authenticates, checks its parameters and
// keeps u64 exact, as ours does.
import { createHash } from 'node:crypto'
import bs58 from 'bs58'
import Fastify from 'fastify'
import { open } from 'lmdb'
import { onStart } from '../child.js'
import type { Account, DataSet } from '../data/data.js'
import {
  createExpectedState,
  finalAccounts,
  type History,
  type ExpectedState,
} from '../data/expected-state.js'

/** Parameters of the Fastify peer. */
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

const fill = async (dir: string, expected: ExpectedState) => {
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

const CALL = {
  type: 'object',
  required: ['jsonrpc', 'method'],
  properties: {
    jsonrpc: { const: '2.0' },
    id: { type: 'integer' },
    method: { type: 'string' },
    params: { type: 'array' },
  },
} as const

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

const ANSWER = {
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

type Call = {
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
}

const digestOf = (token: string): string => createHash('sha256').update(token).digest('base64')

onStart<Start, Listening>(async ({ dir, set, history, token }) => {
  const expected = createExpectedState(set, history)
  const store = await fill(dir, expected)
  const tokens = new Set([digestOf(token)])
  const server = Fastify()

  const failure = (call: Call, code: number, message: string) => ({
    jsonrpc: '2.0',
    error: { code, message },
    id: call.id,
  })

  const accountInfo = (call: Call) => {
    const [text] = call.params
    if (typeof text !== 'string') return failure(call, -32602, 'Missing param at index 0')
    const key = bs58.decodeUnsafe(text)
    if (key?.length !== 32) return failure(call, -32602, 'Invalid param: WrongSize')
    const found = store.get(Buffer.from(key))
    const value = found && {
      lamports: found.lamports,
      data: [found.data.toString('base64'), 'base64'],
      owner: bs58.encode(found.owner),
      executable: found.executable,
      rentEpoch: found.rentEpoch,
      space: found.data.length,
    }
    const result = { context: { slot: expected.slot }, value: value ?? null }
    return { jsonrpc: '2.0', result, id: call.id }
  }

  server.post<{ Params: { token: string }; Body: Call }>(
    '/:token',
    { schema: { body: CALL, response: { 200: ANSWER } } },
    async (request, reply) => {
      if (!tokens.has(digestOf(request.params.token))) return reply.code(401).send()
      const call = request.body
      return call.method === 'getAccountInfo'
        ? accountInfo(call)
        : failure(call, -32601, 'Method not found')
    },
  )
  await server.listen({ host: '127.0.0.1', port: 0 })
  const address = server.server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return { port: address.port }
})
