import { createHash } from 'node:crypto'
import bs58 from 'bs58'
import t from 'tap'
import { askAdmin, grantScope } from '../../fixtures/dashboard/admin.js'
import { sharedBusySandbox } from '../../fixtures/processes/shared-sandbox.js'
import { openSocket } from '../../fixtures/server/socket.js'

type Item = {
  readonly transaction?: { readonly [name: string]: unknown }
  readonly error?: unknown
  readonly signature?: string
  readonly slot: number
  readonly transactionIndex?: number
  readonly cursor?: string
}

/** Addresses that no transaction names. */
const strangers = (count: number): string[] =>
  Array.from({ length: count }, (_, n) => bs58.encode(createHash('sha256').update(`${n}`).digest()))

t.test('transactions over a WebSocket', async t => {
  const deployment = await sharedBusySandbox()
  const { description, port } = deployment
  const { tokenPath } = await grantScope(deployment, 'fra', {})
  const { body } = await askAdmin(deployment, 'POST', tokenPath)
  const path = `/${String(body['token'])}`
  const open = async () => {
    const client = await openSocket(port, { path })
    t.teardown(() => client.destroy())
    const call = async (method: string, params: unknown): Promise<unknown> => {
      client.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
      for (;;) {
        const reply = JSON.parse(await client.next())
        if (reply.id === 1) return reply.result ?? reply.error
      }
    }
    /** The next notification of a subscription. */
    const next = async (id: unknown): Promise<Item> => {
      for (;;) {
        const { method, params } = JSON.parse(await client.next())
        if (params?.subscription !== id) continue
        t.equal(method, 'transactionNotification')
        return params.result
      }
    }
    return { client, call, next }
  }

  t.test('notifications are what getTransaction answers, in every encoding', async t => {
    const { call, client, next } = await open()
    const config = { showRewards: true, maxSupportedTransactionVersion: 0 }
    for (const encoding of ['base64', 'base58', 'json', 'jsonParsed']) {
      const id = await call('transactionSubscribe', [{ vote: false }, { ...config, encoding }])
      const { transaction, signature, slot, transactionIndex } = await next(id)
      const options = { ...config, encoding, commitment: 'confirmed' }
      const response = await fetch(description.upstreamRpcUrl, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'getTransaction',
          params: [signature, options],
        }),
      })
      const { result: answered } = await response.json()
      t.equal(slot, answered.slot)
      t.equal(transactionIndex, answered.transactionIndex ?? transactionIndex)
      t.strictSame(transaction?.['meta'], answered.meta, `${encoding}: meta`)
      t.strictSame(transaction?.['version'], answered.version, `${encoding}: version`)
      if (encoding === 'jsonParsed') {
        // The sandbox has no parsers of instructions.
        const { message } = answered.transaction
        t.match(transaction?.['transaction'], { message: { accountKeys: message.accountKeys } })
      } else t.strictSame(transaction?.['transaction'], answered.transaction, encoding)
      t.equal(await call('transactionUnsubscribe', [id]), true)
    }
    client.destroy()
  })

  t.test('filters of 10,000 addresses, in both forms, and a cursor', async t => {
    const { call, client, next } = await open()
    const token = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
    const many = strangers(9_999)
    const none = await call('transactionSubscribe', [{ accountRequired: [...many, token] }])
    const excluded = await call('transactionSubscribe', [{ accountExclude: [...many, token] }])
    const all = await call('transactionSubscribe', [
      { accountInclude: [...many, token], failed: false },
      { transactionDetails: 'signatures', cursor: true },
    ])
    const config = { transactionDetails: 'signatures' }
    const accounts = { required: [token], exclude: many }
    const named = await call('transactionSubscribe', { filter: { accounts }, config })
    const seen = await next(all)
    t.match(seen, { signature: /^.{64,88}$/, slot: Number, transactionIndex: Number })
    t.ok(seen.cursor)
    t.strictSame(Object.keys(await next(named)).toSorted(), ['signature', 'slot'])
    // Traffic transfers tokens only.
    for (const id of [none, excluded]) t.equal(await call('transactionUnsubscribe', [id]), true)
    t.equal(await call('transactionUnsubscribe', [all]), true)
    t.equal(await call('transactionUnsubscribe', [named]), true)
    const from = [
      { accountInclude: [token], failed: false },
      { ...config, from: seen.cursor },
    ]
    const resumed = await call('transactionSubscribe', from)
    const after = await next(resumed)
    t.ok(after.slot > seen.slot || Number(after.transactionIndex) > Number(seen.transactionIndex))
    client.destroy()
  })

  t.test('fees and tips are notified with each block', async t => {
    const { client, call } = await open()
    const token = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
    const request = { accountKeys: [token], options: { priorityLevel: 'High' } }
    const fees = await call('priorityFeeSubscribe', [request])
    const tips = await call('tipSubscribe', [{ accounts: [token] }])
    const slots = new Map<unknown, number[]>()
    while ([fees, tips].some(id => (slots.get(id)?.length ?? 0) < 3)) {
      const { params } = JSON.parse(await client.next())
      const { context, value } = params.result
      slots.set(params.subscription, [...(slots.get(params.subscription) ?? []), context.slot])
      if (params.subscription === fees) t.type(value.priorityFeeEstimate, 'number')
      else t.match(value, [{ group: 'accounts', accounts: 1, blocks: Number }])
    }
    for (const seen of slots.values())
      t.strictSame(
        seen,
        [...new Set(seen)].toSorted((a, b) => a - b),
        'each block at most once',
      )
    t.match(await call('tipSubscribe', [{ groups: ['none'] }]), { code: -32_602 })
    t.match(await call('priorityFeeSubscribe', [{ accountKeys: ['x'] }]), { code: -32_602 })
    const transaction = { transaction: 'AA==' }
    t.match(await call('priorityFeeSubscribe', [transaction]), { code: -32_602 })
    t.equal(await call('tipUnsubscribe', [fees]), true)
    client.destroy()
  })
})
