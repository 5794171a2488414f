import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { fileURLToPath } from 'node:url'
import { runInNewContext } from 'node:vm'
import bs58 from 'bs58'
import fc from 'fast-check'
import t from 'tap'
import nacl from 'tweetnacl'
import { RpcError } from '../../src/shared/errors.js'
import { isRefusal } from '../../src/shared/jsonrpc.js'
import { createTransactionChecks, type Verdict } from '../../src/native/transactions.js'
import { BUNDLE_FORMS, toTransactions } from '../../src/submission/relay/bundle.js'
import { parseSubmission } from '../../src/submission/call.js'
import { findAll } from '../../src/submission/lander/findings.js'
import { SHARED_ABSENT, sharedPath } from '../fixtures/shared.js'

const QUEUE_MAX = 4
const SERVICE_TIP = bs58.encode(new Uint8Array(32).fill(0x51))
const ENGINE_TIP = bs58.encode(new Uint8Array(32).fill(0xe1))
const SYSTEM = '1'.repeat(32)
const POOL = { verifyThreads: 1, verifyNiceness: 0, verifyQueueMax: QUEUE_MAX }
const RULES = {
  tipClasses: [
    { addresses: [SERVICE_TIP], floorLamports: 1_000_000n },
    { addresses: [ENGINE_TIP], floorLamports: 1_000n },
  ],
  exemptPrograms: [SYSTEM],
}
const checks = createTransactionChecks(RULES, POOL)

type Fixture = {
  readonly tx: string
  readonly expect: 'valid' | 'invalid'
  readonly reason?: string
  readonly facts?: { readonly first_signature: string; readonly bytes: number }
}

const readFixtures = (folder: string): [name: string, fixture: Fixture][] =>
  readdirSync(folder).map(name => [
    name,
    JSON.parse(readFileSync(join(folder, name), 'utf8')) as Fixture,
  ])

/** A legacy transaction of one signer: two tips and one instruction of an application. */
const signed = (seed: Uint8Array, lamports: readonly [bigint, bigint], data: Uint8Array) => {
  const { publicKey, secretKey } = nacl.sign.keyPair.fromSeed(seed)
  const keys = [publicKey, bs58.decode(SERVICE_TIP), bs58.decode(ENGINE_TIP)]
  const transfer = (to: number, amount: bigint): Uint8Array => {
    const bytes = Buffer.from([3, 2, 0, to, 12, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    bytes.writeBigUInt64LE(amount, 9)
    return bytes
  }
  const message = Buffer.concat([
    Uint8Array.of(1, 0, 2, 5),
    ...keys,
    bs58.decode(SYSTEM),
    new Uint8Array(32).fill(0xa1),
    new Uint8Array(32).fill(9),
    Uint8Array.of(3),
    transfer(1, lamports[0]),
    transfer(2, lamports[1]),
    Uint8Array.of(4, 1, 0, data.length, ...data),
  ])
  const signature = nacl.sign.detached(message, secretKey)
  return {
    publicKey,
    message,
    signature,
    bytes: Buffer.concat([[1], signature, message].map(part => Uint8Array.from(part))),
  }
}

const frame = (bytes: Uint8Array): Uint8Array =>
  Buffer.concat([Uint8Array.of(bytes.length >> 8, bytes.length & 255), bytes])
const member = (nonce: number): Buffer =>
  signed(new Uint8Array(32).fill(1), [1_000_000n, 1_000n], Uint8Array.of(nonce)).bytes
/** Too large for Buffer's shared pool: memory of its own, which the collector could free. */
const fullBody = (): Buffer =>
  Buffer.concat(Array.from({ length: 16 }, (_, nonce) => frame(member(nonce))))
const checkOne = (text: string): Promise<Verdict> => checks.checkBundle([text], 4_096)

t.test('every real transaction gets its verdict', async t => {
  const folder = sharedPath('transactions')
  if (folder === undefined) return t.comment(SHARED_ABSENT)
  for (const [name, { tx, expect, facts, reason }] of readFixtures(folder)) {
    const verdict = await checkOne(tx)
    const [found] = verdict.members
    const isValid = found?.problem === undefined && found?.isSigned === true
    t.equal(isValid, expect === 'valid', `${name}: ${reason ?? 'valid'}`)
    if (facts !== undefined)
      t.match(found, { signature: facts.first_signature, byteLength: facts.bytes })
  }
})

t.test('tweetnacl and the kernel agree on honest keys, and on what is spoilt', async t => {
  const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
  await fc.assert(
    fc.asyncProperty(
      bytes(32),
      fc.uint8Array({ maxLength: 40 }),
      fc.option(fc.nat(1_000), { nil: undefined }),
      async (seed, data, spoilt) => {
        const made = signed(seed, [1_000_000n, 1_000n], data)
        const signedBytes = made.bytes.length - 1
        // One bit of the signature: the layout stays right.
        const at = spoilt === undefined ? undefined : 1 + (spoilt % 64)
        if (at !== undefined) made.bytes[at] = (made.bytes[at] ?? 0) ^ 1
        const signature = made.bytes.subarray(1, 65)
        const expected = nacl.sign.detached.verify(made.message, signature, made.publicKey)
        const [found] = (await checkOne(made.bytes.toString('base64'))).members
        t.equal(expected, at === undefined)
        t.match(found, { isSigned: expected, byteLength: signedBytes + 1, qualifies: true })
        t.equal(found?.signature, bs58.encode(signature))
      },
    ),
    { numRuns: 60 },
  )
})

t.test('a bundle, member by member', async t => {
  const poor = signed(new Uint8Array(32).fill(2), [999_999n, 2n ** 64n - 1n], Uint8Array.of(1))
  const texts = [member(1), poor.bytes].map(bytes => bytes.toString('base64'))
  const verdict = await checks.checkBundle(texts, 1_232)
  const common = { start: 0, problem: undefined, isSigned: true, hasApplication: true }
  t.strictSame(verdict, {
    members: [
      {
        ...common,
        byteLength: member(1).length,
        signature: bs58.encode(member(1).subarray(1, 65)),
        tips: [1_000_000n, 1_000n],
        qualifies: true,
      },
      {
        ...common,
        byteLength: poor.bytes.length,
        signature: bs58.encode(poor.signature),
        tips: [999_999n, 2n ** 64n - 1n],
        qualifies: false,
      },
    ],
    duplicate: undefined,
    bundleId: verdict.bundleId,
  })
  t.match(verdict.bundleId, /^[0-9a-f]{64}$/)
  const { wrongSignature, ...begun } = checks.beginBundle(texts, 1_232)
  t.strictSame(begun, {
    signatures: verdict.members.map(({ signature }) => signature),
    faults: [],
    duplicate: undefined,
    bundleId: verdict.bundleId,
    qualifies: true,
  })
  t.equal(await wrongSignature?.(), undefined)
  t.equal(checks.beginBundle(texts.slice(1), 1_232).qualifies, false)
  t.strictSame(await checks.checkBundle([], 1_232), {
    members: [],
    duplicate: undefined,
    bundleId: undefined,
  })
})

t.test('a bundle that has begun, and what is wrong with it', async t => {
  const [one, two, three] = [1, 2, 3].map(nonce => member(nonce).toString('base64'))
  const forge = (nonce: number): string => {
    const bytes = member(nonce)
    bytes[5] = (bytes[5] ?? 0) ^ 1
    return bytes.toString('base64')
  }
  const begin = (...texts: (string | undefined)[]) =>
    checks.beginBundle(
      texts.map(text => text ?? ''),
      1_232,
    )
  t.equal(await begin(one, two, three).wrongSignature?.(), undefined)
  t.equal(await begin(one, forge(2), three).wrongSignature?.(), 1)
  t.equal(await begin(forge(1), two, forge(3)).wrongSignature?.(), 0, 'the first one')
  const twice = begin(one, two, one)
  t.strictSame(twice.duplicate, [0, 2])
  t.equal(twice.wrongSignature, undefined, 'no signature is looked at')
  const broken = begin(one, two?.slice(4))
  t.match(broken.faults, [{ index: 1, problem: /./ }])
  t.equal(broken.bundleId, undefined)
  t.equal(broken.wrongSignature, undefined, 'nor here')
})

/** Nothing waits for the pool, nor is at work there. */
const rested = async (): Promise<void> => {
  const isBusy = () => checks.stats().verifyWaiting + checks.stats().verifyRunning > 0
  for (const endMs = performance.now() + 5_000; isBusy() && performance.now() < endMs;)
    await setImmediate()
}

const isCanonical = (text: string): boolean =>
  Buffer.from(text, 'base64').toString('base64') === text

const FORM = { transactionsMax: 4, bytesMax: 1_232, options: { encoding: 'base64' } }

t.test('a call that is read with its bundle is the call that JSON says', async t => {
  const reading = createTransactionChecks({ ...RULES, bundle: FORM }, POOL)
  const good = Array.from({ length: 4 }, (_, nonce) => member(nonce).toString('base64'))
  const spoil = (text: string, at: number): string => {
    const bytes = Buffer.from(text, 'base64')
    bytes[at % bytes.length] = (bytes[at % bytes.length] ?? 0) ^ 1
    return bytes.toString('base64')
  }
  const text = fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(...good) },
    fc.tuple(fc.constantFrom(...good), fc.nat()).map(([text, at]) => spoil(text, at)),
    fc.base64String({ maxLength: 60 }),
    fc.constantFrom('', 'A===', 'AB==', ' ', '\u0041', 'é', '"', '\\', good[0]?.slice(1) ?? ''),
  )
  const anyCall = fc.record({
    texts: fc.array(text, { maxLength: 5 }),
    id: fc.oneof(
      { weight: 4, arbitrary: fc.nat() },
      fc.string({ maxLength: 6 }),
      fc.constant(null),
      fc.double(),
    ),
    options: fc.oneof(
      { weight: 6, arbitrary: fc.constant<unknown>({ encoding: 'base64' }) },
      fc.constantFrom<unknown>({ encoding: 'base58' }, {}, null, { encoding: 'base64', more: 1 }),
    ),
    edit: fc.oneof(
      fc.constant(undefined),
      fc.record({
        at: fc.nat(),
        count: fc.nat(2),
        put: fc.constantFrom(
          '',
          ' ',
          '"',
          ',',
          '\\',
          '{',
          '}',
          '[',
          ']',
          '\u00a0',
          '\n',
          '0',
          ':1',
        ),
      }),
    ),
  })
  let readCount = 0
  await fc.assert(
    fc.asyncProperty(anyCall, async ({ texts, id, options, edit }) => {
      const whole = { jsonrpc: '2.0', id, method: 'sendBundle', params: [texts, options] }
      const json = JSON.stringify(whole)
      const at = (edit?.at ?? 0) % json.length
      const edited =
        edit === undefined ? json : json.slice(0, at) + edit.put + json.slice(at + edit.count)
      const body = Buffer.from(edited)
      await rested()
      const read = reading.readBundle(body)
      const isUsual =
        edit === undefined &&
        options !== null &&
        JSON.stringify(options) === '{"encoding":"base64"}' &&
        (typeof id === 'string'
          ? /^[ !#-[\]-~]*$/.test(id)
          : /^\d{1,15}$/.test(JSON.stringify(id))) &&
        texts.length >= 1 &&
        texts.length <= 4 &&
        texts.every(text => isCanonical(text))
      if (isUsual) t.ok(read, json)
      if (read === undefined) return
      readCount++
      const call = parseSubmission(body, 32)
      if (isRefusal(call)) return void t.fail(`no call: ${edited}`)
      t.equal(call.method, 'sendBundle')
      t.equal(read.id, call.id)
      t.strictSame(call.params, [
        JSON.parse(`[${body.toString('latin1', read.start, read.end)}]`),
        FORM.options,
      ])
      const given = toTransactions(call.params, BUNDLE_FORMS['/relay-bundle'])
      const { wrongSignature, ...verdict } = reading.beginBundle(given, 1_232)
      const { wrongSignature: readWrong, ...readVerdict } = read.begun
      t.strictSame(readVerdict, verdict)
      t.equal(readWrong === undefined, wrongSignature === undefined)
      t.equal(await readWrong?.(), await wrongSignature?.())
    }),
    { numRuns: 600 },
  )
  t.ok(readCount > 50, `${readCount} of 600 were read`)
  t.throws(() => checks.readBundle(Buffer.from('{}')), { code: 'internal' }, 'no form was given')
})

t.test('a bundle whose signatures are known is told of without waiting', async t => {
  await rested()
  const text = member(1).toString('base64')
  const { wrongSignature } = checks.beginBundle([text], 1_232)
  const endMs = performance.now() + 5_000
  const isBusy = () => checks.stats().verifyWaiting + checks.stats().verifyRunning > 0
  while (isBusy() && performance.now() < endMs);
  // The loop has not turned once.
  t.equal(wrongSignature?.(), undefined)
})

t.test('of bundles that nobody asks about the oldest are forgotten', async t => {
  await rested()
  const text = member(1).toString('base64')
  const begin = () => checks.beginBundle([text], 1_232).wrongSignature
  const oldest = begin()
  await rested()
  const before = begin()
  await rested()
  t.equal(await before?.(), undefined)
  await t.rejects(async () => before?.(), { name: 'checksOverloaded' }, 'it was asked already')
  // As many places as there are, less the two that are taken.
  for (let nth = 0; nth < 16_384 - 2; nth++) begin()
  await rested()
  const newest = begin()
  await rested()
  await t.rejects(async () => oldest?.(), { name: 'checksOverloaded' })
  t.equal(await newest?.(), undefined)
})

t.test('what is clean is what nothing is found in', async t => {
  const floorLamports = 1_000_000n
  const tipClasses = [{ addresses: [SERVICE_TIP], floorLamports }]
  const ofLander = createTransactionChecks({ tipClasses, exemptPrograms: [SYSTEM] }, POOL)
  const paying = (lamports: bigint, nonce: number): Buffer =>
    signed(new Uint8Array(32).fill(1), [lamports, 0n], Uint8Array.of(nonce)).bytes
  const good = [paying(floorLamports, 1), paying(floorLamports + 1n, 2)]
  const poor = [paying(floorLamports - 1n, 3), paying(0n, 4)]
  const forged = good.map(bytes => Buffer.from(bytes).fill(7, 5, 6))
  const junk = [Buffer.alloc(70), Buffer.concat([...good.slice(0, 1), Buffer.of(0)])]
  const all = [...good, ...poor, ...forged, ...junk]
  const cases = [
    [good[0]],
    [good[0], poor[0]],
    [poor[0], poor[1]],
    [forged[0]],
    [junk[1]],
    good,
    [],
  ]
  const examples = cases.map(some => [some.flatMap(one => (one === undefined ? [] : [one]))])
  let cleanCount = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(fc.constantFrom(...good), fc.constantFrom(...all)), { maxLength: 5 }),
      async members => {
        const texts = members.map(bytes => bytes.toString('base64'))
        const batch = Buffer.concat(members.map(frame))
        for (const payers of ['each', 'one'] as const) {
          const rule = { payers, floorLamports }
          const whole = await ofLander.checkBundle(texts, 1_232)
          const isClean = members.length > 0 ? findAll(whole, rule).length === 0 : payers === 'each'
          const found = await ofLander.checkBundle(texts, 1_232, payers)
          t.strictSame(found, isClean ? undefined : whole)
          if (isClean) cleanCount++
          t.equal((await ofLander.checkBatch(batch, payers)) === undefined, isClean)
        }
      },
    ),
    { numRuns: 150, examples: examples as [Buffer[]][] },
  )
  t.ok(cleanCount > 20)
})

t.test('texts that are no canonical base64, or too long', async t => {
  const right = member(1).toString('base64')
  const cases: [name: string, text: string, problem: string | undefined][] = [
    ['as it should be', right, undefined],
    ['a letter whose low byte is an A', right.replace('A', '\u0141'), 'base64'],
    ['half a surrogate pair', right.replace('A', '\ud800'), 'base64'],
    ['a line break', `${right}\n`, 'base64'],
    ['the URL alphabet', right.replace('A', '-'), 'base64'],
    ['nothing', '', 'no bytes'],
    ['8 MiB', 'A'.repeat(8 * 1024 ** 2), 'size'],
    ['one byte too many', Buffer.alloc(1_233).toString('base64'), 'size'],
    [
      'as many as may be',
      Buffer.alloc(1_232).toString('base64'),
      '0 signatures, 1 to 12 are possible',
    ],
  ]
  for (const [name, text, problem] of cases) {
    const [found] = (await checks.checkBundle([text], 1_232)).members
    t.equal(found?.problem, problem, name)
  }
})

t.test('frames, and the records in them', async t => {
  const records = [member(1), member(2), member(3)]
  const body = Buffer.concat(records.map(frame))
  t.strictSame(checks.frameBatch(body), { count: 3, problem: undefined })
  t.strictSame(checks.frameBatch(body.subarray(0, -1)), {
    count: 2,
    problem: `record 2 at offset ${2 * (records[0]?.length ?? 0) + 4}: truncated record: ${
      (records[2]?.length ?? 0) - 1
    } of ${records[2]?.length ?? 0} bytes`,
  })
  t.strictSame(checks.frameBatch(new Uint8Array(0)), {
    count: 0,
    problem: 'record 0 at offset 0: the body is empty',
  })
  const { members, bundleId, duplicate } = await checks.checkBatch(body)
  t.strictSame(
    members.map(({ start, byteLength }) => body.subarray(start, start + byteLength)),
    records,
  )
  t.ok(members.every(({ isSigned, qualifies }) => isSigned === true && qualifies))
  t.match(bundleId, /^[0-9a-f]{64}$/)
  t.equal(duplicate, undefined)
  // In a larger buffer, as bodies lie.
  const view = Buffer.concat([Buffer.alloc(7), body, Buffer.alloc(9)]).subarray(7, -9)
  t.strictSame((await checks.checkBatch(view)).members, members)
})

t.test('a body that nobody holds any more stays until it is judged', async t => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const start = () => checks.checkBatch(fullBody())
  const running = Array.from({ length: QUEUE_MAX }, start)
  collect()
  // What comes into memory that was freed too early.
  const filled = Array.from({ length: 64 }, () => Buffer.alloc(64 * 1024, 0xff))
  await setImmediate()
  collect()
  for (const { members } of await Promise.all(running))
    t.strictSame(
      members.map(({ isSigned }) => isSigned),
      members.map(() => true),
    )
  t.equal(filled.length, 64)
})

t.test('a full queue refuses, and what waits is still judged', async t => {
  const body = fullBody()
  const outcomes = await Promise.allSettled(
    Array.from({ length: 64 }, () => checks.checkBatch(body)),
  )
  const refused = outcomes.flatMap(outcome =>
    outcome.status === 'rejected' ? [outcome.reason as unknown] : [],
  )
  t.ok(refused.length > 0 && refused.length <= 64 - QUEUE_MAX, `${refused.length} refused`)
  for (const error of refused)
    t.ok(error instanceof RpcError && error.name === 'checksOverloaded', String(error))
  for (const outcome of outcomes)
    if (outcome.status === 'fulfilled') t.equal(outcome.value.members.length, 16)
  t.equal(checks.stats().verifyWaiting, 0)
  const filled = Promise.allSettled(Array.from({ length: 64 }, () => checks.checkBatch(body)))
  const text = member(1).toString('base64')
  const begun = Array.from({ length: 64 }, () => checks.beginBundle([text], 1_232))
  for (const { bundleId } of begun) t.ok(bundleId, 'all but the signatures is known')
  // Of these nobody hears, which must not end the process.
  for (let nth = 0; nth < 64; nth++) checks.beginBundle([text], 1_232)
  const heard = await Promise.allSettled(begun.map(({ wrongSignature }) => wrongSignature?.()))
  const overloaded = heard.flatMap(one =>
    one.status === 'rejected' ? [one.reason as unknown] : [],
  )
  t.ok(overloaded.length > 0, `${overloaded.length} of 64 refused`)
  for (const error of overloaded) t.match(error, { name: 'checksOverloaded' })
  await filled
  await setImmediate()
})

t.test('a process may end while its transactions are checked', async t => {
  const script = fileURLToPath(new URL('../fixtures/native/check-and-exit.ts', import.meta.url))
  for (let nth = 0; nth < 2; nth++) {
    const child = spawn(
      process.execPath,
      [...process.execArgv, script, fullBody().toString('base64')],
      { stdio: ['ignore', 'ignore', 'inherit'], timeout: 20_000 },
    )
    t.strictSame(await once(child, 'exit'), [0, null])
  }
})

t.test('rules that cannot be right', async t => {
  const make = (addresses: string[][], exemptPrograms: string[] = []) =>
    createTransactionChecks(
      {
        tipClasses: addresses.map(list => ({ addresses: list, floorLamports: 1n })),
        exemptPrograms,
      },
      POOL,
    )
  t.throws(() => make([[SERVICE_TIP], [ENGINE_TIP, SERVICE_TIP]]), { code: 'internal' })
  t.throws(() => make([['x'.repeat(20)]]), { name: 'pubkeySize' })
  t.throws(() => make([], ['l'.repeat(32)]), { name: 'pubkeyDecode' })
  t.doesNotThrow(() => make([[SERVICE_TIP, SERVICE_TIP]], [SYSTEM, SYSTEM]))
  // Without a class there is nothing to pay.
  const free = await make([]).checkBundle([member(1).toString('base64')], 1_232)
  t.match(free.members, [{ tips: [], qualifies: true }])
})

t.test('bodies of any kind are judged, and never crash', async t => {
  const records = fc.array(
    fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc.nat(3).map(nonce => new Uint8Array(member(nonce))),
    ),
    { maxLength: 18 },
  )
  const body = fc
    .tuple(records, fc.uint8Array({ maxLength: 4 }), fc.nat(300))
    .map(([list, tail, cut]) => {
      const whole = Buffer.concat([...list.map(frame), tail])
      return whole.subarray(0, Math.max(0, whole.length - cut))
    })
  await fc.assert(
    fc.asyncProperty(body, async bytes => {
      const { count, problem } = checks.frameBatch(bytes)
      const { members } = await checks.checkBatch(bytes)
      t.equal(members.length, count)
      if (problem !== undefined) t.match(problem, /^record \d+ at offset \d+: /)
    }),
    { numRuns: 200 },
  )
})
