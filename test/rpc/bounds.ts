import t from 'tap'
import { SUBSCRIPTION_METHODS } from '../../src/pubsub/methods.js'
import { createDispatch } from '../../src/rpc/dispatch.js'
import { method } from '../../src/rpc/method.js'
import { defaults } from '../../src/rpc/options.js'
import { RpcError } from '../../src/shared/errors.js'
import { fakeReads, readBody } from '../fixtures/rpc/fake-reads.js'

const echo = method({
  name: 'echo',
  summary: '',
  bound: 'none',
  params: [{ name: 'value', isRequired: false, schema: {}, errors: [], check: value => value }],
  run: (_, value) => Buffer.from(JSON.stringify(value ?? null)),
})

/** All are scanned on the event loop; what a thread has packed is scanned in the same way. */
const options = { ...defaults, addressesBytesMax: defaults.loopBytesMax }

const setUp = () => {
  const calls: [string, string][] = []
  const dispatch = createDispatch(options, {
    connectionMethods: SUBSCRIPTION_METHODS,
    reads: fakeReads({}),
    methods: new Map([[echo.name, echo]]),
    onCall: (name, outcome) => calls.push([name, outcome]),
    onFault: fault => {
      throw fault
    },
    now: () => performance.now(),
  })
  const body = async (text: string): Promise<string> =>
    readBody((await dispatch.handle(Buffer.from(text), { id: 'r' })).body)
  return { dispatch, body, calls }
}

const call = (name: string, value?: unknown, id: unknown = 1): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method: name, params: value === undefined ? [] : [value] })
const notification = '{"jsonrpc":"2.0","method":"echo"}'
const ok = (result: string, id = '1') => `{"jsonrpc":"2.0","result":${result},"id":${id}}`
const failed = (error: string, id = '1') => `{"jsonrpc":"2.0","error":${error},"id":${id}}`

/** Messages within the limit of bytes whose values would take long to create. */
const OVER_BOUNDS: readonly [name: string, text: string, message: string][] = [
  [
    'too many elements',
    call(
      'echo',
      'a',
      Array.from({ length: 5_000 }, () => ({})),
    ),
    'Message holds more than 4096 elements',
  ],
  [
    'too many members',
    call('echo', Object.fromEntries(Array.from({ length: 5_000 }, (_, nth) => [nth, 0]))),
    'Message holds more than 4096 elements',
  ],
]
for (const [name, text, message] of OVER_BOUNDS)
  t.test(`${name} are refused before the message is parsed`, async t => {
    const { body, calls } = setUp()
    t.equal(await body(text), failed(`{"code":-32600,"message":"${message}"}`, 'null'))
    t.strictSame(calls, [['none', 'messageTooWide']])
  })

t.test('a message over a limit is refused without being parsed', async t => {
  const { dispatch } = setUp()
  const refuse = (text: string): string =>
    dispatch.refuse(Buffer.from(text), new RpcError('overLimit'), { id: 'r' })
  const over = (id: string): string => failed('{"code":-32005,"message":"Too many requests"}', id)
  t.equal(refuse(call('echo', 'x', 'a')), over('"a"'))
  t.equal(
    refuse(`[${call('echo', 'x', 'a')},${notification},${call('echo', 'x', 'b')}]`),
    over('null'),
    'a batch has one error',
  )
  t.equal(refuse(`\n [${notification}]`), over('null'))
  t.equal(refuse(notification), '')
  t.equal(refuse('{"id":7,"method":nonsense}'), over('7'), 'although it is not JSON')
  t.equal(refuse('{"id":nonsense}'), over('null'))
  t.equal(refuse('{"id":{"a":1}}'), over('null'))
  t.equal(refuse('nonsense'), over('null'))
  t.equal(refuse(call('echo', 'a'.repeat(70_000))), over('null'), 'a long message')
})

t.test('a batch is charged before it is parsed and runs within what is granted', async t => {
  const charged: unknown[] = []
  const { dispatch } = setUp()
  const context = {
    id: 'r',
    acquireBatch: (calls: number, atOnce: number) => {
      charged.push([calls, atOnce])
      return 1
    },
  }
  const ping = '{"jsonrpc":"2.0","method":"ping"}'
  const batch = `[${Array(9).fill(ping).join(',')},${call('echo', 'a')}]`
  const { body } = await dispatch.handle(Buffer.from(batch), context)
  t.equal(await readBody(body), `[${ok('"a"')}]`)
  t.strictSame(charged, [[10, 8]], 'pings count')
  await dispatch.handle(Buffer.from('[{}, nonsense'), context)
  t.strictSame(
    charged,
    [
      [10, 8],
      [2, 2],
    ],
    'before it is known to be JSON',
  )
})
