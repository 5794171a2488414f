import t from 'tap'
import { createDispatch, type DispatchModules } from '../../src/rpc/dispatch.js'
import { SUBSCRIPTION_METHODS } from '../../src/pubsub/methods.js'
import { method } from '../../src/rpc/method.js'
import { defaults, type Options } from '../../src/rpc/options.js'
import { RpcError } from '../../src/shared/errors.js'
import type { Reply } from '../../src/shared/http.js'
import type { ReplyBytes } from '../../src/native/reads.js'
import { fakeReads, readBody, textSource } from '../fixtures/rpc/fake-reads.js'

/** A read whose result is in a buffer that the next read overwrites, like a native one. */
const reused = Buffer.alloc(64)
const write = (text: string): Uint8Array => reused.subarray(0, reused.write(text))

const never = new Promise<ReplyBytes>(() => {})
const tested = (name: string, run: (value: unknown) => ReplyBytes | Promise<ReplyBytes>) =>
  method({
    name,
    summary: '',
    bound: name === 'hang' ? 'timeout' : 'none',
    params: [{ name: 'value', isRequired: false, schema: {}, errors: [], check: value => value }],
    run: (_, value) => run(value),
  })

const METHODS = new Map(
  [
    tested('echo', value => write(JSON.stringify(value ?? null))),
    tested('wait', value => Promise.resolve(Buffer.from(JSON.stringify(value ?? null)))),
    tested('stream', value => Promise.resolve(textSource(JSON.stringify(value ?? null)))),
    tested('unmeasured', value =>
      Promise.resolve(textSource(JSON.stringify(value), { hasLength: false, isSlow: true })),
    ),
    tested('hang', value => (value === 'late' ? Promise.resolve(textSource('')) : never)),
    tested('refuse', () => {
      throw new RpcError('readBudget', undefined, { limit: 10, scanned: 512 })
    }),
    tested('refuseLater', () => Promise.reject(new RpcError('notTokenMint'))),
    tested('full', () => {
      throw new RpcError('unauthorized')
    }),
    tested('break', () => {
      throw new Error('the secret reason')
    }),
    tested('breakLater', () => Promise.reject(new Error('the secret reason'))),
  ].map(method => [method.name, method]),
)

const setUp = (options: Partial<Options> = {}, modules: Partial<DispatchModules> = {}) => {
  const calls: [string, string][] = []
  const faults: [string, string, string][] = []
  const dispatch = createDispatch(
    { ...defaults, ...options },
    {
      connectionMethods: SUBSCRIPTION_METHODS,
      reads: fakeReads({}),
      methods: METHODS,
      onCall: (method, outcome) => calls.push([method, outcome]),
      onFault: (fault, method, { id }) => faults.push([(fault as Error).message, method, id]),
      now: () => performance.now(),
      ...modules,
    },
  )
  const handle = (text: string): Reply | Promise<Reply> =>
    dispatch.handle(Buffer.from(text), { id: 'request-1' })
  const body = async (text: string): Promise<string> => readBody((await handle(text)).body)
  return { dispatch, handle, body, calls, faults }
}

const call = (name: string, value?: unknown, id: unknown = 1): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method: name, params: value === undefined ? [] : [value] })
const notification = '{"jsonrpc":"2.0","method":"break"}'
const ok = (result: string, id = '1') => `{"jsonrpc":"2.0","result":${result},"id":${id}}`
const failed = (error: string, id = '1') => `{"jsonrpc":"2.0","error":${error},"id":${id}}`

const INTERNAL = '{"code":-32603,"message":"Internal error"}'
const BUDGET =
  '{"code":-32003,"message":"Query exceeded the read budget; narrow the filters or use pagination",' +
  '"data":{"limit":10,"scanned":512}}'
const UNKNOWN = '{"code":-32601,"message":"Method not found"}'

const replies: [name: string, body: string, reply: string][] = [
  ['a result', call('echo', 'é'), ok('"é"')],
  ['a result after a wait', call('wait', 'é'), ok('"é"')],
  ['a streamed result', call('stream', ['a', 'b']), ok('["a","b"]')],
  ['a streamed result of unknown length', call('unmeasured', ['a', 'b']), ok('["a","b"]')],
  ['an id beyond ASCII', call('echo', 1, 'é😀'), ok('1', '"é😀"')],
  ['an id of many characters', call('stream', 1, '😀'.repeat(99)), ok('1', `"${'😀'.repeat(99)}"`)],
  ['an error with data', call('refuse'), failed(BUDGET)],
  [
    'an error after a wait',
    call('refuseLater'),
    failed('{"code":-32602,"message":"Invalid param: not a Token mint"}'),
  ],
  ['an unknown method', call('nope', 'x'), failed(UNKNOWN)],
  ['a name of every object', call('constructor'), failed(UNKNOWN)],
  ['a bug', call('break'), failed(INTERNAL)],
  ['a bug after a wait', call('breakLater'), failed(INTERNAL)],
  ['a plain HTTP failure inside a method', call('full'), failed(INTERNAL)],
  [
    'too many parameters',
    '{"jsonrpc":"2.0","id":1,"method":"echo","params":[1,2,3]}',
    failed(
      '{"code":-32602,"message":"Invalid parameters: Expected from 0 to 1 parameters.","data":"\\"Got: 3\\""}',
    ),
  ],
  [
    'params as an object',
    '{"jsonrpc":"2.0","id":1,"method":"echo","params":{}}',
    failed('{"code":-32602,"message":"`params` should be an array"}'),
  ],
  ['a parse error', '{', failed('{"code":-32700,"message":"Parse error"}', 'null')],
  ['a notification', notification, ''],
  ['a notification of an unknown method', '{"jsonrpc":"2.0","method":"ping"}', ''],

  [
    'a batch',
    `[${call('echo', 'a', 'x')},${call('echo', 'b', 2)}]`,
    `[${ok('"a"', '"x"')},${ok('"b"', '2')}]`,
  ],
  [
    'a batch in request order',
    `[${call('wait', 'a')},${call('echo', 'b')},${call('stream', 'c')},${call('refuse')},${call('unmeasured', 'd')},{}]`,
    `[${ok('"a"')},${ok('"b"')},${ok('"c"')},${failed(BUDGET)},${ok('"d"')},${failed('{"code":-32600,"message":"Invalid request"}', 'null')}]`,
  ],
  ['a batch of one', `[${call('stream', 'a')}]`, `[${ok('"a"')}]`],
  [
    'a batch with notifications',
    `[${notification},${call('echo', 'a')},${notification}]`,
    `[${ok('"a"')}]`,
  ],
  ['a batch of notifications', `[${notification},${notification}]`, ''],
  ['an empty batch', '[]', failed('{"code":-32600,"message":"Invalid request"}', 'null')],
  [
    'a bug in a batch',
    `[${call('breakLater')},${call('echo', 'a')}]`,
    `[${failed(INTERNAL)},${ok('"a"')}]`,
  ],
]
for (const [name, text, reply] of replies)
  t.test(name, async t => {
    const { handle } = setUp()
    const { status, contentType, body } = await handle(text)
    const declared = typeof body === 'object' && 'read' in body ? body.byteLength : undefined
    t.equal(await readBody(body), reply)
    t.equal(status, 200)
    t.equal(contentType, 'application/json; charset=utf-8')
    if (declared !== undefined) t.equal(declared, Buffer.byteLength(reply))
  })

t.test('calls that need no waiting are answered synchronously, also in a batch', async t => {
  // A batch that takes longer than its turn continues in a later one.
  const { handle } = setUp({}, { now: () => 0 })
  for (const text of [
    call('echo'),
    call('refuse'),
    '{',
    notification,
    `[${call('echo')},${call('break')}]`,
  ])
    t.notOk(handle(text) instanceof Promise, text)
})

t.test('awaited replies have memory of their own', async t => {
  const { handle, body } = setUp()
  const first = await handle(call('wait', 'first'))
  await body(call('echo', 'second'))
  t.equal(await readBody(first.body), ok('"first"'))
})

t.test('a result may be larger than the scratch buffer', async t => {
  const { body } = setUp({ scratchBytes: 40 })
  t.equal(await body(call('echo', 'a', 1)), ok('"a"'))
  t.equal(await body(call('echo', 'a'.repeat(30))), ok(`"${'a'.repeat(30)}"`))
})

t.test('a bug is logged with the id of its request, and not sent to the client', async t => {
  const { body, calls, faults } = setUp()
  await body(call('break'))
  await body(call('breakLater'))
  await body(call('refuse'))
  t.strictSame(faults, [
    ['the secret reason', 'break', 'request-1'],
    ['the secret reason', 'breakLater', 'request-1'],
  ])
  t.strictSame(calls, [
    ['break', 'internal'],
    ['breakLater', 'internal'],
    ['refuse', 'readBudget'],
  ])
})

t.test('the id of a request is read only for log lines', async t => {
  const context = {
    get id(): string {
      throw new Error('was read')
    },
  }
  const dispatch = createDispatch(defaults, {
    connectionMethods: SUBSCRIPTION_METHODS,
    reads: fakeReads({}),
    methods: METHODS,
    onCall() {},
    onFault() {},
    now: () => 0,
  })
  for (const text of [call('echo'), call('refuse'), `[${call('echo')}]`, '{'])
    t.equal((await dispatch.handle(Buffer.from(text), context)).status, 200)
})

t.test('calls are counted by method and outcome', async t => {
  const { body, calls } = setUp()
  for (const text of ['{', call('nope'), notification, `[${call('echo')},{},${notification}]`])
    await body(text)
  t.strictSame(calls, [
    ['none', 'parseError'],
    ['unknown', 'methodNotFound'],
    ['none', 'invalidRequest'],
    ['echo', 'ok'],
  ])
})

t.test('a read over the timeout is an error', async t => {
  const { body, calls } = setUp({ readTimeoutMs: 5 })
  const error = failed('{"code":-32603,"message":"Read timed out after 30 seconds"}')
  t.equal(await body(call('hang')), error)
  t.equal(await body(`[${call('echo', 'a')},${call('hang')}]`), `[${ok('"a"')},${error}]`)
  t.equal(await body(call('hang', 'late')), ok(''), 'a result in time')
  t.strictSame(calls[0], ['hang', 'readTimeout'])
})

t.test('concurrent calls of a batch are bounded', async t => {
  let waiting = 0
  let waitingMax = 0
  const slow = tested('slow', async value => {
    waitingMax = Math.max(waitingMax, ++waiting)
    await new Promise(setImmediate)
    waiting--
    return Buffer.from(String(value))
  })
  const { body } = setUp({ batchWaitingMax: 3 }, { methods: new Map([['slow', slow]]) })
  const ids = Array.from({ length: 20 }, (_, id) => id)
  t.equal(
    await body(`[${ids.map(id => call('slow', id, id))}]`),
    `[${ids.map(id => ok(String(id), String(id)))}]`,
  )
  t.equal(waitingMax, 3)
})

t.test('the bytes of a batch reply are bounded', async t => {
  const tooLong = failed('{"code":-32603,"message":"Batch reply holds more than 10 bytes"}')
  const sources: { closeCount: number }[] = []
  const open = tested('open', value => {
    const source = textSource(JSON.stringify(value))
    sources.push(source)
    return Promise.resolve(source)
  })
  const methods = new Map([...METHODS, ['open', open] as const])
  const { body, calls } = setUp({ batchReplyBytesMax: 10, batchWaitingMax: 1 }, { methods })
  t.equal(await body(`[${call('echo', 'aaaaaaaa')}]`), `[${ok('"aaaaaaaa"')}]`, 'exactly the bound')
  t.equal(
    await body(`[${call('open', 'aaaa')},${call('open', 'bbbb')},${call('echo', 'c')}]`),
    `[${ok('"aaaa"')},${tooLong},${tooLong}]`,
  )
  t.strictSame(
    sources.map(source => source.closeCount),
    [1, 1],
    'each source is closed once',
  )
  t.equal(calls.filter(([name]) => name === 'echo').length, 1, 'calls over the bound are not run')
  await t.rejects(body(`[${call('unmeasured', 'a'.repeat(99))}]`), { name: 'batchReplyTooLong' })
})

t.test('the fast lane answers first', async t => {
  const reads = fakeReads({
    fast: body => {
      const text = Buffer.from(body).toString()
      if (text.includes('bug')) throw new Error('no memory')
      return text.includes('"echo"') ? { bytes: write('fast'), method: 'echo' } : undefined
    },
  })
  const on = setUp({}, { reads })
  t.equal(await on.body(call('echo', 'a')), 'fast')
  t.equal(await on.body(call('wait', 'a')), ok('"a"'))
  t.equal(await on.body(call('wait', 'bug')), ok('"bug"'), 'its failure is not the request’s')
  t.strictSame(on.faults, [['no memory', 'fast lane', 'request-1']])
  t.strictSame(on.calls, [
    ['echo', 'ok'],
    ['wait', 'ok'],
    ['wait', 'ok'],
  ])
  const off = setUp({ fastLane: false }, { reads })
  t.equal(await off.body(call('echo', 'a')), ok('"a"'))
})

t.test('subscription methods are called on the connection', async t => {
  const forwarded: [string, unknown][] = []
  const callConnectionMethod = (
    name: string,
    params: unknown,
  ): Uint8Array | Promise<Uint8Array> | undefined => {
    forwarded.push([name, params])
    if (name === 'rootSubscribe') return Promise.reject(new RpcError('notTokenMint'))
    if (name === 'blockSubscribe') return undefined
    if (name === 'slotSubscribe') throw new RpcError('readBudget')
    return Buffer.from('7')
  }
  const forward = {
    takesOutsideScope: false,
    takes: (name: string) => !name.startsWith('nope'),
    call: () => Promise.reject(new Error('the upstream was called')),
  }
  const { faults, calls, body } = setUp({}, { forward })
  const ask = async (name: string): Promise<string> => {
    const dispatch = createDispatch(defaults, {
      connectionMethods: SUBSCRIPTION_METHODS,
      reads: fakeReads({}),
      methods: METHODS,
      forward,
      onCall: (method, outcome) => calls.push([method, outcome]),
      onFault: (fault, method) => faults.push([(fault as Error).message, method, '']),
      now: () => performance.now(),
    })
    const context = { id: 'request-1', callConnectionMethod }
    return readBody((await dispatch.handle(Buffer.from(call(name, 'x')), context)).body)
  }
  t.equal(await ask('accountSubscribe'), ok('7'))
  t.strictSame(forwarded, [['accountSubscribe', ['x']]])
  t.match(await ask('slotSubscribe'), /-32003/, 'it may throw')
  t.match(await ask('rootSubscribe'), /-32602/, 'it may reject')
  t.equal(await ask('blockSubscribe'), failed(UNKNOWN), 'a method that it does not have')
  t.equal(await ask('echo'), ok('"x"'), 'methods of the registry are not called there')
  t.equal(forwarded.length, 4)
  t.equal(
    await body(call('accountSubscribe', 'x')),
    failed(UNKNOWN),
    'unknown without a connection',
  )
  t.equal(await body(`[${call('voteUnsubscribe', 1)}]`), `[${failed(UNKNOWN)}]`)
  t.strictSame(faults, [])
})
