import { Client } from 'undici'
import type { Exchange, Target } from '../load-generators/connection.js'
import { callBody, checkReply, type Json } from './reference.js'

/** A call and the result that it must have. */
export type CheckedCall = {
  readonly name: string
  readonly method: string
  readonly params: readonly unknown[]
  readonly result: Json
}

/**
 * Sends each request once and checks the value of the reply. The received bytes are what a load may
 * compare, in bytes.
 */
export const recordExchanges = async (
  target: Target,
  calls: Iterable<CheckedCall>,
): Promise<Exchange[]> => {
  const client = new Client(`http://127.0.0.1:${target.port}`)
  const exchanges: Exchange[] = []
  for (const { name, method, params, result } of calls) {
    const body = callBody(method, params)
    const response = await client.request({
      method: 'POST',
      path: target.path,
      headers: { 'content-type': 'application/json' },
      body,
    })
    const reply = await response.body.text()
    if (response.statusCode !== 200)
      throw new Error(`${name}: HTTP ${response.statusCode} ${reply}`)
    checkReply(name, reply, result)
    exchanges.push({ body, reply })
  }
  await client.close()
  return exchanges
}
