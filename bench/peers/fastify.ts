// getAccountInfo written the plain, competent way: Fastify, npm lmdb with binary values, bs58. It
// authenticates, checks its parameters and keeps u64 exact, as ours does.
import { createHash } from 'node:crypto'
import bs58 from 'bs58'
import Fastify from 'fastify'
import { open } from 'lmdb'
import { onStart } from '../child.js'
import type { Account, DataSet } from '../data.js'
import { createWorld, finalAccounts, type History, type World } from '../world.js'

/** What the Fastify peer is told. */
export type Start = {
  readonly dir: string
  readonly set: DataSet
  readonly history: History
  readonly token: string
}

/** Where it answers. */
export type Listening = { readonly port: number }

/** Value: lamports, rentEpoch, executable, owner, then the data. */
const HEAD_BYTES = 8 + 8 + 1 + 32

const encode = (account: Account): Buffer => {
  const value = Buffer.allocUnsafe(HEAD_BYTES + account.data.length)
  value.writeBigUInt64LE(account.lamports, 0)
  value.writeBigUInt64LE(account.rentEpoch, 8)
  value.writeUInt8(account.executable ? 1 : 0, 16)
  account.owner.copy(value, 17)
  account.data.copy(value, HEAD_BYTES)
  return value
}

const PUT_BATCH = 50_000

const fill = async (dir: string, world: World) => {
  const store = open<Buffer, Buffer>({
    path: dir,
    encoding: 'binary',
    keyEncoding: 'binary',
    noSync: true,
    mapSize: 8 * 1024 ** 3,
  })
  let batch: Account[] = []
  const write = () =>
    store.transactionSync(() => {
      for (const account of batch) store.putSync(account.pubkey, encode(account))
      batch = []
    })
  for (const account of finalAccounts(world)) if (batch.push(account) === PUT_BATCH) write()
  write()
  await store.flushed
  return store
}

const BODY = {
  type: 'object',
  required: ['jsonrpc', 'method'],
  properties: {
    jsonrpc: { const: '2.0' },
    id: { type: ['integer', 'string', 'null'] },
    method: { type: 'string' },
    params: { type: 'array' },
  },
} as const

type Call = {
  readonly id: number | string | null
  readonly method: string
  readonly params: readonly unknown[]
}

const digestOf = (token: string): string => createHash('sha256').update(token).digest('base64')

onStart<Start, Listening>(async ({ dir, set, history, token }) => {
  const world = createWorld(set, history)
  const store = await fill(dir, world)
  const tokens = new Set([digestOf(token)])
  const server = Fastify({ ajv: { customOptions: { allowUnionTypes: true } } })

  const failure = (id: Call['id'], code: number, message: string) =>
    JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id })

  const accountInfo = (call: Call): string => {
    const [text] = call.params
    if (typeof text !== 'string') return failure(call.id, -32602, 'Missing param at index 0')
    const key = bs58.decodeUnsafe(text)
    if (key?.length !== 32) return failure(call.id, -32602, 'Invalid param: WrongSize')
    const found = store.getBinary(Buffer.from(key))
    let value = 'null'
    if (found !== undefined) {
      const lamports = found.readBigUInt64LE(0)
      const rentEpoch = found.readBigUInt64LE(8)
      const owner = bs58.encode(found.subarray(17, HEAD_BYTES))
      const data = found.toString('base64', HEAD_BYTES)
      // A template because JSON.stringify has no u64.
      const space = found.length - HEAD_BYTES
      value =
        `{"lamports":${lamports},"data":["${data}","base64"],"owner":"${owner}",` +
        `"executable":${found[16] === 1},"rentEpoch":${rentEpoch},"space":${space}}`
    }
    const result = `{"context":{"slot":${world.slot}},"value":${value}}`
    return `{"jsonrpc":"2.0","result":${result},"id":${JSON.stringify(call.id)}}`
  }

  server.post<{ Params: { token: string }; Body: Call }>(
    '/:token',
    { schema: { body: BODY } },
    async (request, reply) => {
      if (!tokens.has(digestOf(request.params.token))) return reply.code(401).send()
      const call = request.body
      reply.type('application/json')
      return call.method === 'getAccountInfo'
        ? accountInfo(call)
        : failure(call.id, -32601, 'Method not found')
    },
  )
  await server.listen({ host: '127.0.0.1', port: 0 })
  const address = server.server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return { port: address.port }
})
