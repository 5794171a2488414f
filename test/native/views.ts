// Memory of JavaScript that a native call reads or writes: views of one buffer, buffers that are
// detached, resized or shared. Nothing may be read or written outside of it, or wrongly.
import bs58 from 'bs58'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import * as addon from '#native'
import { POOLS, STORE, applyAccounts } from '../fixtures/rpc/store.js'

const KEY = new Uint8Array(32).fill(7)
const OWNER = new Uint8Array(32).fill(9)
const DATA = Buffer.from(Array.from({ length: 200 }, (_, index) => index))
const REQUEST = Buffer.from(
  `{"jsonrpc":"2.0","id":1,"method":"getAccountInfo","params":["${bs58.encode(KEY)}",{"encoding":"base64"}]}`,
)
/** JSON of the account is shorter. */
const OUT_BYTES = 1_024

const open = (t: Test): addon.Reader => {
  const indexer = new addon.Indexer(t.testdir(), STORE)
  const reader = indexer.openReader(POOLS)
  t.teardown(() => {
    reader.close()
    indexer.close()
  })
  const account = {
    lamports: 5,
    data: [DATA.toString('base64'), 'base64'] as const,
    owner: bs58.encode(OWNER),
    executable: false,
    rentEpoch: 0,
  }
  applyAccounts(indexer, [{ pubkey: bs58.encode(KEY), account }], 12)
  return reader
}

const detach = ({ buffer }: Uint8Array): void => {
  structuredClone(buffer, { transfer: [buffer as ArrayBuffer] })
}

/** A copy of `bytes` in a buffer whose length can change. */
const resizable = (bytes: Uint8Array): Uint8Array => {
  const buffer: ArrayBuffer = Reflect.construct(ArrayBuffer, [
    bytes.length,
    { maxByteLength: 2 * bytes.length },
  ])
  const view = new Uint8Array(buffer)
  view.set(bytes)
  return view
}
const shrink = ({ buffer }: Uint8Array): void => {
  Reflect.apply(Reflect.get(buffer, 'resize') as () => void, buffer, [0])
}

/** The whole reply of the task that `start` starts. */
const readAll = async (
  start: (reply: addon.NativeReply) => Promise<addon.TaskResult>,
): Promise<string> => {
  const reply = new addon.NativeReply()
  const { failure } = await start(reply)
  if (failure !== undefined) return `failed: ${failure.code}`
  const chunks: Uint8Array[] = []
  for (;;) {
    const into = new Uint8Array(64)
    const count = reply.read(into)
    if (count === 0) return Buffer.concat(chunks).toString()
    if (count > 0) chunks.push(into.subarray(0, count))
    else await reply.wait()
  }
}

t.test('input and output may be views of one buffer', async t => {
  const reader = open(t)
  const fast = reader.fastLane(0).asFunction()
  const at = fc.nat(OUT_BYTES)
  const calls = [
    {
      input: KEY,
      call: (key: Uint8Array, out: Uint8Array) => reader.account(key, 0, -1, 0, -1, out),
    },
    {
      input: KEY,
      call: (key: Uint8Array, out: Uint8Array) => reader.accounts(key, 0, -1, 0, -1, out),
    },
    { input: KEY, call: (key: Uint8Array, out: Uint8Array) => reader.balance(key, false, out) },
    {
      input: new Uint8Array(REQUEST),
      call: (body: Uint8Array, out: Uint8Array) => fast(body, out) & (2 ** 24 - 1),
    },
  ]
  for (const { input, call } of calls) {
    const apart = new Uint8Array(OUT_BYTES)
    const length = call(input, apart)
    t.ok(length > 0)
    const expected = Buffer.from(apart.subarray(0, length))
    fc.assert(
      fc.property(at, at, (inputAt, outAt) => {
        const memory = new Uint8Array(3 * OUT_BYTES)
        memory.set(input, inputAt)
        const out = memory.subarray(outAt, outAt + OUT_BYTES)
        const written = call(memory.subarray(inputAt, inputAt + input.length), out)
        return written === length && expected.equals(out.subarray(0, written))
      }),
      { numRuns: 300 },
    )
  }
})

t.test('a getter that detaches an argument', async t => {
  const reader = open(t)
  const body = Uint8Array.from(REQUEST)
  const limits = {
    get callsMax() {
      detach(body)
      return 1
    },
    nestingMax: 8,
    textBytesMax: 1_000,
  }
  const { refusal } = await reader.packMessage(body, limits)
  t.equal(refusal, 'parseError', 'nothing is left of it')

  const program = Uint8Array.from(OWNER)
  const page = { encoding: 0, sliceOffset: -1, sliceLength: 0, limit: 10, scanMs: 1_000 }
  const query = {
    program,
    filters: [],
    get changedSinceSlot() {
      detach(program)
      return -1
    },
    page: { ...page, replyBytesMax: 100_000 },
  }
  const found = await readAll(reply => reader.programPage(query, 10_000, reply))
  t.match(found, bs58.encode(KEY), 'the program is that of the call')
})

t.test('a buffer that shrinks or is detached while its call runs', async t => {
  const reader = open(t)
  const expected = await readAll(reply =>
    reader.accountsTask(KEY, true, 0, -1, 0, -1, 10_000, reply),
  )
  t.match(expected, DATA.toString('base64'))
  const rules = { tipClasses: [], exemptPrograms: [], signatureRule: 'strict' as const }
  const pool = { verifyThreads: 1, verifyNiceness: 0, verifyQueueMax: 64 }
  const checks = new addon.TransactionChecks(rules, pool)
  const batch = Buffer.from([3, 0, 0, 0, 1, 2, 3])
  const verdict = await checks.checkBatch(batch)
  const limits = { callsMax: 10, nestingMax: 8, textBytesMax: 1_000 }
  const packed = await reader.packMessage(REQUEST, limits)
  const listed = Uint8Array.from(REQUEST)
  for (const end of [shrink, detach]) {
    const [key, body, message] = [KEY, batch, listed].map(resizable) as [
      Uint8Array,
      Uint8Array,
      Uint8Array,
    ]
    const running = [
      readAll(reply => reader.accountsTask(key, true, 0, -1, 0, -1, 10_000, reply)),
      checks.checkBatch(body),
      reader.packMessage(message, limits),
    ]
    for (const memory of [key, body, message]) end(memory)
    t.strictSame(await Promise.all(running), [expected, verdict, packed])
    t.throws(() => reader.balance(key, false, new Uint8Array(OUT_BYTES)), 'no bytes are left')
  }
})

t.test('a buffer without memory is not written', async t => {
  const reader = open(t)
  const fast = reader.fastLane(0).asFunction()
  for (const end of [shrink, detach]) {
    const out = resizable(new Uint8Array(OUT_BYTES))
    t.ok(reader.balance(KEY, false, out) > 0)
    end(out)
    t.equal(reader.balance(KEY, false, out), -1)
    t.equal(fast(REQUEST, out), 0)
    const reply = new addon.NativeReply()
    await reader.accountsTask(KEY, true, 0, -1, 0, -1, 10_000, reply)
    await reply.wait()
    t.ok(reply.read(out) <= 0)
    reply.close()
  }
})

t.test('memory that other threads may change is refused', async t => {
  const reader = open(t)
  const fast = reader.fastLane(0).asFunction()
  const shared = (bytes: Uint8Array): Uint8Array => {
    const view = new Uint8Array(new SharedArrayBuffer(bytes.length))
    view.set(bytes)
    return view
  }
  const out = new Uint8Array(OUT_BYTES)
  t.throws(() => reader.balance(shared(KEY), false, out), /shared memory/)
  t.throws(() => reader.balance(KEY, false, shared(out)), /shared memory/)
  t.equal(fast(shared(REQUEST), out), 0)
  t.equal(fast(REQUEST, shared(out)), 0)
})
