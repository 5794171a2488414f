// getAccountInfo on Fastify, with a schema of requests.
import Fastify from 'fastify'
import { onStart } from '../child.js'
import { CallError, openAccounts, REPLY, type Listening, type Start } from './stored-accounts.js'

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

type Call = {
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
}

onStart<Start, Listening>(async start => {
  const accounts = await openAccounts(start)
  const server = Fastify()

  const answer = ({ id, method, params }: Call) => {
    try {
      if (method !== 'getAccountInfo') throw new CallError(-32601, 'Method not found')
      return { jsonrpc: '2.0', result: accounts.accountInfo(params), id }
    } catch (error) {
      if (!(error instanceof CallError)) throw error
      return { jsonrpc: '2.0', error: { code: error.code, message: error.message }, id }
    }
  }

  server.post<{ Params: { token: string }; Body: Call }>(
    '/:token',
    { schema: { body: CALL, response: { 200: REPLY } } },
    async (request, reply) =>
      accounts.isKnown(request.params.token) ? answer(request.body) : reply.code(401).send(),
  )
  await server.listen({ host: '127.0.0.1', port: 0 })
  const address = server.server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return { port: address.port }
})
