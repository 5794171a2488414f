import { closeSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import t, { type Test } from 'tap'
import * as addon from '#native'
import { POOLS, STORE } from '../fixtures/rpc/store.js'
import {
  ANSWER,
  ANSWER_ERROR,
  blockSpec,
  compared,
  KEY,
  keys,
  loaderSpec,
  ms,
  pageOf,
  poolsSpec,
  rulesSpec,
  spoolSpec,
  storeSpec,
  verifySpec,
  CHECKS,
  FANOUT,
  FUNCTIONS,
  INDEXER,
  LOADER,
  QUIC,
  quicOptions,
  READER,
  REPLY,
  SECRET_FORMS,
  SPOOL,
  STORE_INSPECTOR,
  type Row,
} from '../fixtures/native/addon-arguments.js'
import { GRPC, grpcSpec } from '../fixtures/native/grpc-arguments.js'
import { QUIC_LANE, quicSpec } from '../fixtures/native/quic-arguments.js'
import { bytes, optional, text, whole, wrongCalls } from '../fixtures/native/wrong.js'

type Call = (...args: never[]) => unknown

const namesOf = (rows: readonly Row[]): string[] => rows.map(([name]) => name).sort()
const membersOf = (target: object): string[] =>
  Object.getOwnPropertyNames(target)
    .filter(name => name !== 'constructor')
    .sort()
const methodOf = (target: object, name: string): Call => {
  const found: unknown = Reflect.get(target, name)
  if (typeof found !== 'function') throw new Error(`no function ${name}`)
  return found as Call
}

/** Their arguments are in `access/limits.ts`. */
const LIMITS = ['acquireRequest', 'releaseRequests']
const CELLS = ['ACCESS_VERSION_CELL', 'LEASE_END_CELL']

const BRIEFLY = { depth: 5, maxStringLength: 50, maxArrayLength: 3, breakLength: Infinity }

/** Makes each wrong call, which must throw an Error; returns those that did not. */
const notRefused = (target: object, name: string, calls: unknown[][]): string[] =>
  calls.flatMap(args => {
    try {
      const answer = Reflect.apply(methodOf(target, name), target, args)
      return [`${name}(${inspect(args, BRIEFLY)}) = ${inspect(answer)}`]
    } catch (error) {
      return error instanceof Error ? [] : [`${name} threw ${inspect(error)}`]
    }
  })

t.test('exports', async t => {
  const classes = [
    'AnswerErrorScan',
    'DirectReads',
    'SecretForms',
    'PointReadLane',
    'QuicLane',
    'StoreInspector',
    'Fanout',
    'GrpcServer',
    'Indexer',
    'LimitedAccess',
    'LimitTable',
    'NativeReply',
    'QuicListener',
    'Reader',
    'RpcAnswer',
    'StoreLoader',
    'Spool',
    'TransactionChecks',
    'UsageCells',
    'UsageReader',
    'UsageRecorder',
  ]
  t.strictSame(
    Object.keys(addon).sort(),
    [...classes, '__napiBindingTarget', ...LIMITS, ...CELLS, ...namesOf(FUNCTIONS)].sort(),
  )
  t.strictSame(membersOf(addon.Indexer.prototype), namesOf(INDEXER))
  t.strictSame(membersOf(addon.Reader.prototype), namesOf(READER))
  t.strictSame(membersOf(addon.StoreInspector.prototype), namesOf(STORE_INSPECTOR))
  t.strictSame(membersOf(addon.PointReadLane.prototype), ['answerBlockhashes', 'asFunction'])
  t.strictSame(membersOf(addon.DirectReads.prototype), ['close', 'mount', 'register', 'takeCounts'])
  t.strictSame(membersOf(addon.Fanout.prototype), namesOf(FANOUT))
  t.strictSame(membersOf(addon.GrpcServer.prototype), namesOf(GRPC))
  t.strictSame(membersOf(addon.QuicListener.prototype), namesOf(QUIC))
  t.strictSame(membersOf(addon.RpcAnswer.prototype), namesOf(ANSWER))
  t.strictSame(membersOf(addon.AnswerErrorScan.prototype), namesOf(ANSWER_ERROR))
  t.strictSame(membersOf(addon.SecretForms.prototype), namesOf(SECRET_FORMS))
  t.strictSame(membersOf(addon.QuicLane.prototype), namesOf(QUIC_LANE))
  t.strictSame(membersOf(addon.Spool.prototype), namesOf(SPOOL))
  t.strictSame(membersOf(addon.NativeReply.prototype), namesOf(REPLY))
  t.strictSame(membersOf(addon.StoreLoader.prototype), namesOf(LOADER))
  t.strictSame(membersOf(addon.TransactionChecks.prototype), namesOf(CHECKS))
})

const openBoth = (t: Test): { indexer: addon.Indexer; reader: addon.Reader } => {
  const indexer = new addon.Indexer(t.testdir(), STORE)
  const reader = indexer.openReader(POOLS)
  t.teardown(() => {
    reader.close()
    indexer.close()
  })
  return { indexer, reader }
}

t.test('wrong arguments are refused', async t => {
  const dir = t.testdir({ a: {} })
  new addon.Indexer(join(dir, 'a'), STORE).close()
  const constructors = {
    Indexer: (...args: [string, addon.StoreOptions]) => new addon.Indexer(...args).close(),
    Reader: (...args: [string, addon.StoreOptions, addon.PoolOptions]) =>
      new addon.Reader(...args).close(),
  }
  // No pool exists yet: the first reader's options create the pools, and only those are checked.
  const path = text(join(dir, 'a'), '/dev/null/store', '\0')
  t.strictSame(notRefused(constructors, 'Reader', wrongCalls([path, storeSpec, poolsSpec])), [])
  t.strictSame(notRefused(constructors, 'Indexer', wrongCalls([path, storeSpec])), [])
  for (const [name, specs] of FUNCTIONS)
    t.strictSame(notRefused(addon, name, wrongCalls(specs)), [], name)

  const { indexer, reader } = openBoth(t)
  for (const [name, specs] of INDEXER)
    t.strictSame(notRefused(indexer, name, wrongCalls(specs)), [], name)
  t.equal(indexer.tip(), null, 'no wrong block was applied')
  indexer.applyBlock({ ...(blockSpec.right as addon.BlockData) })
  for (const [name, specs] of READER)
    t.strictSame(notRefused(reader, name, wrongCalls(specs)), [], name)
  t.strictSame(notRefused(reader, 'programPage', wrongCalls([pageOf(compared), ms])), [])
  t.match(indexer.tip(), { slot: 10 }, 'and the store still answers')

  const reply = new addon.NativeReply()
  t.throws(() => reply.read(new Uint8Array(8)), 'before a task')
  t.throws(() => reply.wait(), 'before a task')
  t.match(await reader.accountsTask(KEY, true, 0, -1, 0, -1, 1_000, reply), {})
  t.strictSame(notRefused(reply, 'read', wrongCalls([bytes(KEY)])), [])
  t.equal(reply.read(new Uint8Array(0)) <= 0, true)
  reply.close()
  t.throws(() => reply.read(new Uint8Array(8)), 'after its end')
})

t.test('wrong arguments of a inspector are refused', async t => {
  const dir = t.testdir()
  new addon.Indexer(dir, STORE).close()
  const constructors = {
    StoreInspector: (...args: [string, addon.StoreOptions]) =>
      new addon.StoreInspector(...args).close(),
  }
  const path = text(dir, '/dev/null/store', '\0')
  t.strictSame(notRefused(constructors, 'StoreInspector', wrongCalls([path, storeSpec])), [])
  const inspector = new addon.StoreInspector(dir, STORE)
  t.throws(() => inspector.verifySlice(), 'before it has begun')
  for (const [name, specs] of STORE_INSPECTOR)
    t.strictSame(notRefused(inspector, name, wrongCalls(specs)), [], name)
  t.match(await inspector.copyTo(join(dir, 'none')), {
    failure: { code: 'internal', reason: /No such/ },
  })
  inspector.close()
  t.throws(() => inspector.tip(), 'after its end')
})

t.test('wrong arguments of an answer are refused', async t => {
  const make = (...args: [string, Uint8Array?, number?]) => new addon.RpcAnswer(...args)
  const specs = [
    text('positional', '', 'Listed'),
    keys,
    optional(whole(1, Number.MAX_SAFE_INTEGER)),
  ]
  t.strictSame(notRefused({ RpcAnswer: make }, 'RpcAnswer', wrongCalls(specs)), [])
  t.throws(() => make('positional'), 'for no addresses')
  const answer = make('listed')
  for (const [name, specs] of ANSWER_ERROR)
    t.strictSame(notRefused(new addon.AnswerErrorScan(), name, wrongCalls(specs)), [], name)
  for (const [name, specs] of SECRET_FORMS)
    t.strictSame(notRefused(new addon.SecretForms(['a'], []), name, wrongCalls(specs)), [], name)
  for (const [name, specs] of ANSWER.filter(([name]) => name !== 'end'))
    t.strictSame(notRefused(answer, name, wrongCalls(specs)), [], name)
  t.equal(answer.feed(Buffer.from('{"result":[]}')).length, 0)
  t.match(answer.end(), { rows: 0 })
  for (const [name, specs] of ANSWER)
    t.strictSame(notRefused(answer, name, [specs.map(({ right }) => right)]), [], name)
})

t.test('wrong arguments of a lane are refused', async t => {
  const make = (options: addon.LaneOptions) => new addon.QuicLane(options)
  t.strictSame(notRefused({ QuicLane: make }, 'QuicLane', wrongCalls([quicSpec])), [])
  const lane = make(quicSpec.right as addon.LaneOptions)
  for (const [name, specs] of QUIC_LANE)
    t.strictSame(notRefused(lane, name, wrongCalls(specs)), [], name)
  t.match(await lane.send(KEY), { end: 'unreachable', reason: 'not connected' })
  const waiting = lane.after(2 ** 52)
  lane.close()
  t.match(await waiting, { isClosed: true, isConnected: false })
  t.match(await lane.send(KEY), { end: 'unreachable' })
})

t.test('wrong arguments of a spool are refused', async t => {
  const dir = t.testdir()
  const constructors = {
    Spool: (...args: [string, addon.SpoolOptions, addon.StoreOptions]) =>
      new addon.Spool(...args).close(),
  }
  const path = text(join(dir, 'spool'), '/dev/null/spool', '\0')
  // A store's options are checked only if the store exists.
  const specs = [path, spoolSpec, { right: STORE, wrong: [undefined, null, 5, {}] }]
  t.strictSame(notRefused(constructors, 'Spool', wrongCalls(specs)), [])
  const bounds = spoolSpec.right as addon.SpoolOptions
  const spool = new addon.Spool(join(dir, 'spool'), bounds, STORE)
  for (const [name, specs] of SPOOL.filter(([name]) => !/^(close|replay)$/.test(name)))
    t.strictSame(notRefused(spool, name, wrongCalls(specs)), [], name)
  const replayed = await spool.replay(join(dir, 'store'), 1, null)
  t.match(replayed, { failure: { code: 'storeUnusable', reason: /has no block/ } })
  t.throws(() => spool.handOver(), 'before it was replayed')
  spool.close()
  t.throws(() => spool.stats(), 'after its end')
})

t.test('wrong arguments of a loader are refused', async t => {
  const dir = t.testdir()
  const constructors = {
    StoreLoader: (...args: [string, addon.StoreOptions, addon.LoaderOptions]) =>
      new addon.StoreLoader(...args).close(),
  }
  const path = text(join(dir, 'work'), '/dev/null/work', '\0')
  const specs = [path, storeSpec, loaderSpec]
  t.strictSame(notRefused(constructors, 'StoreLoader', wrongCalls(specs)), [])
  const bounds = loaderSpec.right as addon.LoaderOptions
  const loader = new addon.StoreLoader(join(dir, 'work'), STORE, bounds)
  for (const [name, specs] of LOADER.filter(([name]) => !/^(close|cancel)$/.test(name)))
    t.strictSame(notRefused(loader, name, wrongCalls(specs)), [], name)
  t.match(await loader.push(0, new Uint8Array(9)), {
    failure: { code: 'internal', reason: /cut off/ },
  })
  t.match(await loader.push(0, new Uint8Array(0)), {
    failure: { code: 'internal', reason: /made its store/ },
  })
  loader.close()
  t.throws(() => loader.push(0, new Uint8Array(0)), 'after its end')
})

t.test('wrong arguments of a fan-out are refused', async t => {
  const { indexer, reader } = openBoth(t)
  const fanout = reader.openFanout({ subscriptionsMax: 9, chunkBytesMax: 1 })
  for (const [name, specs] of FANOUT)
    t.strictSame(notRefused(fanout, name, wrongCalls(specs)), [], name)
  t.equal(fanout.stats().subscriptions, 0)
  indexer.applyBlock(blockSpec.right as addon.BlockData)
  t.match(await fanout.pass(), { slot: 10, isLost: false, hasMore: false })
  fanout.close()
  for (const [name, specs] of FANOUT.filter(([name]) => !/^(close|hold|remove|stats)$/.test(name)))
    t.strictSame(notRefused(fanout, name, [specs.map(({ right }) => right)]), [], name)
})

t.test('wrong arguments of a QUIC listener are refused', async t => {
  const descriptor = addon.openDatagrams('127.0.0.1', 0)
  t.teardown(() => closeSync(descriptor))
  const make = (options: addon.QuicListenerOptions) => new addon.QuicListener(options)
  const options = quicOptions(descriptor)
  const calls = wrongCalls([options])
  t.strictSame(notRefused({ QuicListener: make }, 'QuicListener', calls), [])
  const listener = make(options.right as addon.QuicListenerOptions)
  for (const [name, specs] of QUIC)
    t.strictSame(notRefused(listener, name, wrongCalls(specs)), [], name)
  t.equal(listener.admit(7, 'access'), false, 'no such connection')
  listener.refuse(7, 'invalid_auth')
  listener.closeConnection(7, 'unavailable')
  listener.pause(7, true)
  listener.answer(7, 200, 'words')
  const [first, second] = [listener.receive(), listener.receive()]
  t.equal(await first, null, 'one waits at a time')
  t.match(listener.stats(), { connections: 0, handshakes: 0, streams: 0 })
  await listener.drain()
  listener.close()
  t.equal(await second, null)
  for (const [name, specs] of QUIC.filter(([name]) => name !== 'close'))
    t.strictSame(notRefused(listener, name, [specs.map(({ right }) => right)]), [], name)
})

t.test('wrong arguments of a gRPC server are refused', async t => {
  const make = (options: addon.GrpcServerOptions) => new addon.GrpcServer(options)
  t.strictSame(notRefused({ GrpcServer: make }, 'GrpcServer', wrongCalls([grpcSpec])), [])
  const server = make(grpcSpec.right as addon.GrpcServerOptions)
  for (const [name, specs] of GRPC)
    t.strictSame(notRefused(server, name, wrongCalls(specs)), [], name)
  t.equal(server.admit(7, 0, 'access', 4), false, 'no such call')
  for (const name of ['refuse', 'closeStream'] as const) server[name](7, 'unauthenticated')
  await server.settle()
  const waiting = server.receive()
  t.match(server.stats(), { connections: 0, streams: 0 })
  await server.drain()
  server.close()
  t.equal(await waiting, null)
})

t.test('wrong arguments of transaction checks are refused', async t => {
  const make = (...args: [addon.TransactionRules, addon.VerifyPoolOptions]) =>
    new addon.TransactionChecks(...args)
  const calls = wrongCalls([rulesSpec, verifySpec])
  t.strictSame(notRefused({ TransactionChecks: make }, 'TransactionChecks', calls), [])
  const checks = make(
    rulesSpec.right as addon.TransactionRules,
    verifySpec.right as addon.VerifyPoolOptions,
  )
  for (const [name, specs] of CHECKS)
    t.strictSame(notRefused(checks, name, wrongCalls(specs)), [], name)
  const tooMany = Array.from({ length: 17 }, () => '')
  t.throws(() => checks.checkBundle(tooMany, 1_232))
  t.match(await checks.checkBundle([''], 1_232), { members: [{ qualifies: false }] })
  const twice = { addresses: ['1'.repeat(32)], floorLamports: 1n }
  t.throws(() =>
    make(
      { tipClasses: [twice, twice], exemptPrograms: [], signatureRule: 'strict' },
      verifySpec.right as never,
    ),
  )
})

t.test('a method called on another object is refused', async t => {
  const { indexer, reader } = openBoth(t)
  for (const prototype of [addon.Indexer.prototype, addon.Reader.prototype])
    for (const name of membersOf(prototype))
      for (const other of [{}, undefined, prototype === addon.Indexer.prototype ? reader : indexer])
        t.throws(() => Reflect.apply(methodOf(prototype, name), other, []), name)
  const args = [KEY, true, 0, -1, 0, 1_000, indexer]
  t.throws(() => Reflect.apply(methodOf(reader, 'accountsTask'), reader, args), 'as an argument')
})

t.test('the fast lane declines values that are no body', async t => {
  const { indexer, reader } = openBoth(t)
  indexer.applyBlock(blockSpec.right as addon.BlockData)
  const known = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"getLatestBlockhash"}')
  const fast = reader.fastLane(8).asFunction()
  const out = new Uint8Array(4_096)
  t.ok(fast(known, out) > 0)
  const wrong: unknown[] = [
    undefined,
    null,
    5,
    'text',
    {},
    [],
    known.buffer,
    new Float64Array(9),
    new Uint8Array(0),
  ]
  for (const value of wrong) {
    t.equal(Reflect.apply(fast, undefined, [value, out]), 0, String(value))
    t.equal(Reflect.apply(fast, undefined, [known, value]), 0, `into ${String(value)}`)
  }
  t.equal(Reflect.apply(fast, undefined, []), 0, 'no argument')
  t.equal(Reflect.apply(fast, undefined, [known]), 0, 'no buffer')
  t.equal(Reflect.apply(fast, {}, [known, out]), fast(known, out), 'whatever `this` is')
  t.equal(fast(known, new Uint8Array(16)), 0, 'a reply that does not fit')
})

t.test('closed objects throw', async t => {
  const { indexer, reader } = openBoth(t)
  indexer.applyBlock(blockSpec.right as addon.BlockData)
  const [reply, lateReply] = [new addon.NativeReply(), new addon.NativeReply()]
  await reader.accountsTask(KEY, true, 0, -1, 0, -1, 1_000, reply)
  const late = reader.accountsTask(KEY, true, 0, -1, 0, -1, 1_000, lateReply)
  const fast = reader.fastLane(8).asFunction()
  const out = new Uint8Array(4_096)
  const known = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"getLatestBlockhash"}')
  t.ok(fast(known, out) > 0, 'answered while it is open')
  reader.close()
  indexer.close()
  for (const [name, specs] of READER.filter(([name]) => !/^(close|poolStats)$/.test(name)))
    t.strictSame(notRefused(reader, name, [specs.map(({ right }) => right)]), [], name)
  t.equal(fast(known, out), 0, 'declined')
  for (const [name, specs] of INDEXER.filter(([name]) => !/^(close|stopFeed)$/.test(name)))
    t.strictSame(notRefused(indexer, name, [specs.map(({ right }) => right)]), [], name)
  reader.close()
  indexer.close()
  t.equal((await late).failure, undefined, 'what ran has ended')
  t.ok(lateReply.read(new Uint8Array(8)) > 0)
  reply.close()
  t.throws(() => reply.wait())
  t.throws(() => reply.read(new Uint8Array(8)))
  t.doesNotThrow(() => reply.close())
})
