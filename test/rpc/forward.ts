import t from 'tap'
import { SUBSCRIPTION_METHODS } from '../../src/pubsub/methods.js'
import type { AnsweredCall } from '../../src/rpc/call-context.js'
import { createDispatch } from '../../src/rpc/dispatch.js'
import { createForward, type Forwarded, type ForwardOptions } from '../../src/rpc/forward.js'
import { defaults as forwardDefaults } from '../../src/rpc/forward-options.js'
import { defaults, type Options } from '../../src/rpc/options.js'
import { errorOf } from '../../src/rpc/outcome.js'
import { RpcError } from '../../src/shared/errors.js'
import { fakeReads } from '../fixtures/rpc/fake-reads.js'
import { askText } from '../fixtures/rpc/vectors.js'

const TIP = { slot: 9, parentSlot: 8, blockHeight: 7, blockhash: '' }
const KEY = '11111111111111111111111111111112'

/** A dispatcher that forwards to `answer`, with what it sent and counted. */
const open = (
  answer: (call: string) => Forwarded | Promise<Forwarded>,
  {
    rpc = {},
    fails = 'outsideScope',
    ...given
  }: Partial<ForwardOptions> & {
    rpc?: Partial<Options>
    fails?: 'outsideScope' | 'indexIncomplete' | 'feesNotFollowed'
  } = {},
) => {
  const fail = async (): Promise<never> => {
    throw new RpcError(fails)
  }
  const sent: string[] = []
  const calls: string[] = []
  const faults: unknown[] = []
  const errors: unknown[] = []
  const forward = createForward({ ...forwardDefaults, deny: [], ...given }, async body => {
    // A later tick: by then the client's bytes are others.
    await new Promise(resolve => setImmediate(resolve))
    const call = Buffer.from(body).toString()
    sent.push(call)
    return answer(call)
  })
  const dispatch = createDispatch(
    { ...defaults, ...rpc },
    {
      connectionMethods: SUBSCRIPTION_METHODS,
      reads: fakeReads({
        block: () => TIP,
        balance: () => {
          throw new RpcError(fails)
        },
        recentFees: fail,
        programPage: fail,
        ownerPage: fail,
      }),
      forward,
      onCall: (method, outcome) => calls.push(`${method} ${outcome}`),
      onFault: fault => faults.push(fault),
      now: () => performance.now(),
    },
  )
  const ask = async (request: string): Promise<string> => {
    const body = Buffer.from(request)
    const onCall = ({ outcome }: AnsweredCall): void => {
      const error = errorOf(outcome)
      if (error !== undefined) errors.push(error)
    }
    const reply = dispatch.handle(body, { id: 'test', onCall })
    // As the server's own buffer, which the next request overwrites.
    body.fill(0x20)
    const { body: text } = await reply
    return typeof text === 'string' ? text : Buffer.from(text as Uint8Array).toString()
  }
  return { sent, calls, errors, faults, dispatch, ask }
}

const echo = (call: string): Forwarded => {
  const [, id = 'null'] = /"id" ?: ?([^,}]+)/.exec(call) ?? []
  return { status: 200, body: Buffer.from(`{"id":${id},"result":18446744073709551615}\n`) }
}
const failure = (code: number, message: string, id = '1'): string =>
  `{"jsonrpc":"2.0","error":{"code":${code},"message":"${message}"},"id":${id}}`
const CALL = '{"jsonrpc":"2.0","id":1,"method":"getBlock","params":[18446744073709551615]}'

t.test('a call and its reply are forwarded as bytes', async t => {
  const { ask, sent, calls } = open(echo)
  const spaced = ` ${CALL.replace('"id":1', '"id" : 1.50E-07')} `
  t.equal(await ask(spaced), '{"id":1.50E-07,"result":18446744073709551615}')
  t.strictSame(sent, [spaced])
  t.strictSame(calls, ['forwarded ok'])
})

t.test('calls of a batch are forwarded one by one', async t => {
  const { ask, sent } = open(echo, { rpc: { batchWaitingMax: 2 } })
  const local = '{"jsonrpc":"2.0","id":"x","method":"getSlot"}'
  const far = (id: string): string => `{"jsonrpc":"2.0","id":${id},"method":"getBlock"}`
  const ids = ['18446744073709551616', '"a"', 'null', '-0', '4']
  const reply = await ask(`[${local}, ${ids.map(far).join(' , ')}]`)
  const expected = ids.map(id => `{"id":${id},"result":18446744073709551615}`)
  t.equal(reply, `[{"jsonrpc":"2.0","result":9,"id":"x"},${expected.join()}]`)
  t.strictSame(sent, ids.map(far))
})

t.test('what is no call keeps the places of the forwarded calls of a batch', async t => {
  const { ask, sent } = open(echo)
  const far = (id: string): string => `{"jsonrpc":"2.0","id":${id},"method":"getBlock"}`
  const reply = await ask(`[5,${far('1')},[{}],${far('2')},"x"]`)
  const bad = failure(-32600, 'Invalid request', 'null')
  const good = (id: string): string => `{"id":${id},"result":18446744073709551615}`
  t.equal(reply, `[${[bad, good('1'), bad, good('2'), bad].join()}]`)
  t.strictSame(sent, [far('1'), far('2')])
})

t.test('a call without a reply gets the reason, and other calls are answered', async t => {
  const reasons = [
    [{ failure: 'unreachable' }, 'upstream RPC unreachable'],
    [{ failure: 'no-response' }, 'upstream RPC did not answer'],
    [{ failure: 'full' }, 'Too many forwarded calls in flight; retry with backoff'],
    [
      { status: 429, body: Buffer.from('{"error":1}') },
      'upstream RPC refused the call with HTTP status 429',
    ],
    [
      { status: 502, body: Buffer.from('<html></html>') },
      'upstream RPC refused the call with HTTP status 502',
    ],
    [{ status: 200, body: Buffer.alloc(0) }, 'upstream RPC refused the call with HTTP status 200'],
  ] as const
  for (const [forwarded, message] of reasons) {
    const { ask, calls } = open(() => forwarded)
    t.equal(await ask(CALL), failure(-32603, message))
    const local = '{"jsonrpc":"2.0","id":2,"method":"getSlot"}'
    t.equal(
      await ask(`[${CALL},${local}]`),
      `[${failure(-32603, message)},{"jsonrpc":"2.0","result":9,"id":2}]`,
    )
    t.equal(calls.filter(call => call.startsWith('forwarded rpc')).length, 2)
  }
})

t.test('an error of the upstream is returned unchanged', async t => {
  const body = '{"jsonrpc":"2.0","error":{"code":-32004,"message":"Block not available"},"id":1}'
  const { ask } = open(() => ({ status: 500, body: Buffer.from(body) }))
  t.equal(await ask(CALL), body)
})

const NO_OUTCOME = 'upstream RPC did not answer; the outcome of the call is unknown'
const ofMethod = (method: string): string => CALL.replace('getBlock', method)

t.test('an upstream that hangs is bounded by the read timeout', async t => {
  const { ask } = open(() => new Promise<Forwarded>(() => {}), { rpc: { readTimeoutMs: 20 } })
  const message = 'Read timed out after 30 seconds'
  t.equal(await ask(CALL), failure(-32603, message))
  const second = CALL.replace('"id":1', '"id":2')
  t.equal(
    await ask(`[${CALL},${second}]`),
    `[${failure(-32603, message)},${failure(-32603, message, '2')}]`,
  )
  t.equal(await ask(ofMethod('sendTransaction')), failure(-32603, NO_OUTCOME))
})

t.test('only a call that may change something has an unknown outcome', async t => {
  const { ask } = open(() => ({ failure: 'no-response' }))
  for (const method of ['getBlock', 'isX', 'simulateTransaction', 'minimumLedgerSlot'])
    t.equal(await ask(ofMethod(method)), failure(-32603, 'upstream RPC did not answer'), method)
  for (const method of ['sendTransaction', 'requestAirdrop', 'get', 'getaway', 'issue'])
    t.equal(await ask(ofMethod(method)), failure(-32603, NO_OUTCOME), method)
})

t.test('an error of the upstream is counted with its code and text', async t => {
  const error = { code: -32_002, message: 'Transaction simulation failed' }
  const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', error, id: 1 }))
  const { ask, calls, errors } = open(call =>
    call.includes('getBlock') ? { status: 200, body } : echo(call),
  )
  t.equal(await ask(CALL), body.toString())
  const good = ofMethod('getTransaction')
  t.equal(await ask(`[${CALL},${good},${CALL}]`), `[${body},${(await ask(good)).trim()},${body}]`)
  t.strictSame(calls.toSorted(), [
    'forwarded ok',
    'forwarded ok',
    ...Array(3).fill('forwarded upstreamError'),
  ])
  t.strictSame(errors, Array(3).fill(error))
})

t.test('allow, deny, callBytesMax and notifications', async t => {
  const notFound = failure(-32601, 'Method not found')
  const denied = open(echo, { deny: ['getBlock'] })
  t.equal(await denied.ask(CALL), notFound)
  const other = open(echo, { allow: ['getTransaction'] })
  t.equal(await other.ask(CALL), notFound)
  t.equal(await other.ask(`[${CALL}]`), `[${notFound}]`)
  t.match(await other.ask(CALL.replace('getBlock', 'getTransaction')), '"result"')
  const both = open(echo, { allow: ['getBlock'], deny: ['getBlock'] })
  t.equal(await both.ask(CALL), notFound)
  const short = open(echo, { callBytesMax: 40 })
  t.equal(await short.ask(CALL), failure(-32600, 'Forwarded call holds more than 40 bytes'))
  t.strictSame([...denied.sent, ...both.sent, ...short.sent], [])
  const notified = open(echo)
  t.equal(await notified.ask(CALL.replace('"id":1,', '')), '')
  t.strictSame(notified.sent, [])
})

t.test('reads outside the scope are forwarded where configured', async t => {
  const call = `{"jsonrpc":"2.0","id":1,"method":"getBalance","params":["${KEY}"]}`
  const cached = open(echo)
  t.equal(await cached.ask(call), failure(-32603, 'account outside indexed scope'))
  const { ask, sent, calls } = open(echo, { outsideScope: 'forward' })
  t.equal(await ask(call), '{"id":1,"result":18446744073709551615}')
  t.equal(await ask(`[${call}]`), '[{"id":1,"result":18446744073709551615}]')
  t.strictSame(sent, [call, call])
  t.strictSame(calls, ['forwarded ok', 'forwarded ok'])
})

t.test('a page is never forwarded', async t => {
  const owner = `{"jsonrpc":"2.0","id":1,"method":"getTokenAccountsByOwnerV2","params":["${KEY}",{"mint":"${KEY}"}]}`
  const program = `{"jsonrpc":"2.0","id":1,"method":"getProgramAccountsV2","params":["${KEY}"]}`
  for (const name of ['outsideScope', 'indexIncomplete'] as const) {
    const { ask, sent, calls } = open(echo, {
      outsideScope: 'forward',
      fails: name,
    })
    const error = failure(-32603, new RpcError(name).message)
    for (const call of [owner, program]) {
      t.equal(await ask(call), error, name)
      t.equal(await ask(`[${call}]`), `[${error}]`, name)
    }
    t.strictSame(sent, [])
    t.ok(calls.every(call => call.endsWith(` ${name}`)))
  }
})

t.test('a bug is an internal error and logged', async t => {
  const { ask, faults } = open(() => {
    throw new Error('a secret')
  })
  t.equal(await ask(CALL), failure(-32603, 'Internal error'))
  t.match(faults, [{ message: 'a secret' }])
})

t.test('without an upstream unknown methods are not found', async t => {
  const { dispatch } = open(echo)
  t.ok(dispatch)
  const alone = createDispatch(defaults, {
    connectionMethods: SUBSCRIPTION_METHODS,
    reads: fakeReads({}),
    onCall() {},
    onFault() {},
    now: () => 0,
  })
  t.equal(await askText(alone, CALL), failure(-32601, 'Method not found'))
})

t.test('fees are forwarded where the index has none', async t => {
  const fees = '{"jsonrpc":"2.0","id":1,"method":"getRecentPrioritizationFees","params":[["x"]]}'
  const call = fees.replace('["x"]', '')
  const { ask, sent, calls } = open(echo, { fails: 'feesNotFollowed' })
  t.equal(await ask(call), '{"id":1,"result":18446744073709551615}')
  t.equal(await ask(`[${call}]`), '[{"id":1,"result":18446744073709551615}]')
  t.equal(await ask(fees), failure(-32602, 'Invalid param: WrongSize'), 'but not a wrong call')
  t.strictSame(sent, [call, call])
  t.match(calls, ['forwarded ok', 'forwarded ok'])
  const denied = open(echo, { fails: 'feesNotFollowed', deny: ['getRecentPrioritizationFees'] })
  t.equal(await denied.ask(call), failure(-32603, new RpcError('feesNotFollowed').message))
  const failing = open(echo, { fails: 'indexIncomplete' })
  t.equal(await failing.ask(call), '{"id":1,"result":18446744073709551615}')
})
