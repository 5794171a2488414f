import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import bs58 from 'bs58'
import fc from 'fast-check'
import t from 'tap'
import nacl from 'tweetnacl'
import { RpcError } from '../../src/shared/errors.js'
import { createTransactionChecks, type Verdict } from '../../src/native/transactions.js'
import { scriptPath } from '../fixtures/repository.js'
import { SHARED_ABSENT, sharedPath } from '../fixtures/shared.js'
import { skipAbsent } from '../fixtures/skip-absent.js'

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
  signatureRule: 'strict' as const,
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

/** A legacy transaction of one signer: two tips and one application instruction. */
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
const members = new Map<number, Buffer>()
/** A copy of a valid transaction. Each is signed once: tweetnacl takes milliseconds. */
const member = (nonce: number): Buffer => {
  let bytes = members.get(nonce)
  if (bytes === undefined) {
    const data = Uint8Array.of(nonce)
    bytes = signed(new Uint8Array(32).fill(1), [1_000_000n, 1_000n], data).bytes
    members.set(nonce, bytes)
  }
  return Buffer.from(bytes)
}
/** Too large for Buffer's shared pool: its own memory, which the collector could free. */
const fullBody = (): Buffer =>
  Buffer.concat(Array.from({ length: 16 }, (_, nonce) => frame(member(nonce))))
const checkOne = async (text: string): Promise<Verdict> => checks.checkBundle([text], 4_096)

t.test('every real transaction gets its verdict', async t => {
  const folder = sharedPath('transactions')
  if (folder === undefined) return skipAbsent(t, SHARED_ABSENT)
  for (const [name, { tx, expect, facts, reason }] of readFixtures(folder)) {
    const verdict = await checkOne(tx)
    const [found] = verdict.members
    const isValid = found?.problem === undefined && found?.isSigned === true
    t.equal(isValid, expect === 'valid', `${name}: ${reason ?? 'valid'}`)
    if (facts !== undefined) t.equal(found?.signature, facts.first_signature)
  }
})

t.test('tweetnacl and the addon agree on valid and on corrupted signatures', async t => {
  const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
  await fc.assert(
    fc.asyncProperty(
      bytes(32),
      fc.uint8Array({ maxLength: 40 }),
      fc.option(fc.nat(1_000), { nil: undefined }),
      async (seed, data, corruptedBit) => {
        const made = signed(seed, [1_000_000n, 1_000n], data)
        // Flips one bit of the signature: the layout stays valid.
        const at = corruptedBit === undefined ? undefined : 1 + (corruptedBit % 64)
        if (at !== undefined) made.bytes[at] = (made.bytes[at] ?? 0) ^ 1
        const signature = made.bytes.subarray(1, 65)
        const expected = nacl.sign.detached.verify(made.message, signature, made.publicKey)
        const [found] = (await checkOne(made.bytes.toString('base64'))).members
        t.equal(expected, at === undefined)
        t.match(found, { isSigned: expected, qualifies: true })
        t.equal(found?.signature, bs58.encode(signature))
      },
    ),
    { numRuns: 60 },
  )
})

t.test('verdicts of the members of a bundle', async t => {
  const poor = signed(new Uint8Array(32).fill(2), [999_999n, 2n ** 64n - 1n], Uint8Array.of(1))
  const texts = [member(1), poor.bytes].map(bytes => bytes.toString('base64'))
  const verdict = await checks.checkBundle(texts, 1_232)
  const common = { blockhash: bs58.encode(new Uint8Array(32).fill(9)), isSigned: true }
  const paid = (...lamports: bigint[]) =>
    lamports.map((amount, nth) => ({ account: [SERVICE_TIP, ENGINE_TIP][nth], lamports: amount }))
  t.strictSame(verdict, {
    members: [
      {
        ...common,
        signature: bs58.encode(member(1).subarray(1, 65)),
        tips: [1_000_000n, 1_000n],
        paid: paid(1_000_000n, 1_000n),
        qualifies: true,
      },
      {
        ...common,
        signature: bs58.encode(poor.signature),
        tips: [999_999n, 2n ** 64n - 1n],
        paid: paid(999_999n, 2n ** 64n - 1n),
        qualifies: false,
      },
    ],
    bundleId: verdict.bundleId,
  })
  t.match(verdict.bundleId, /^[0-9a-f]{64}$/)
  t.strictSame(await checks.checkBundle([], 1_232), { members: [] })
})

t.test('a bundle with forged, repeated and malformed members', async t => {
  const [one, two, three] = [1, 2, 3].map(nonce => member(nonce).toString('base64'))
  const forge = (nonce: number): string => {
    const bytes = member(nonce)
    bytes[5] = (bytes[5] ?? 0) ^ 1
    return bytes.toString('base64')
  }
  const check = (...texts: (string | undefined)[]) =>
    checks.checkBundle(
      texts.map(text => text ?? ''),
      1_232,
    )
  const isSigned = async (...texts: (string | undefined)[]) =>
    (await check(...texts)).members.map(member => member.isSigned)
  t.strictSame(await isSigned(one, two, three), [true, true, true])
  t.strictSame(await isSigned(one, forge(2), three), [true, false, true])
  t.strictSame(await isSigned(forge(1), two, forge(3)), [false, true, false])
  t.strictSame((await check(one, two, one)).duplicate, [0, 2])
  const broken = await check(one, two?.slice(4))
  t.match(broken.members[1], { problem: { kind: 'structure', reason: /./ }, isSigned: undefined })
  t.equal(broken.bundleId, undefined)
})

t.test('non-canonical or oversized base64', async t => {
  const right = member(1).toString('base64')
  const cases: [name: string, text: string, problem: string | undefined][] = [
    ['as it should be', right, undefined],
    ['a letter whose low byte is an A', right.replace('A', '\u0141'), 'base64'],
    ['half a surrogate pair', right.replace('A', '\ud800'), 'base64'],
    ['a line break', `${right}\n`, 'base64'],
    ['the URL alphabet', right.replace('A', '-'), 'base64'],
    ['nothing', '', 'structure no bytes'],
    ['8 MiB', 'A'.repeat(8 * 1024 ** 2), 'size'],
    ['one byte too many', Buffer.alloc(1_233).toString('base64'), 'size'],
    [
      'as many as may be',
      Buffer.alloc(1_232).toString('base64'),
      'structure 0 signatures, 1 to 12 are possible',
    ],
  ]
  for (const [name, text, expected] of cases) {
    const [found] = (await checks.checkBundle([text], 1_232)).members
    const problem = found?.problem
    t.equal(problem && `${problem.kind} ${problem.reason}`.trim(), expected, name)
  }
})

t.test('frames and their records', async t => {
  const records = [member(1), member(2), member(3)]
  const body = Buffer.concat(records.map(frame))
  t.strictSame(checks.frameBatch(body), { count: 3 })
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
    members.map(({ signature }) => signature),
    records.map(record => bs58.encode(record.subarray(1, 65))),
  )
  t.ok(members.every(({ isSigned, qualifies }) => isSigned === true && qualifies))
  t.match(bundleId, /^[0-9a-f]{64}$/)
  t.equal(duplicate, undefined)
  // A view into a larger buffer, like the bodies of requests.
  const view = Buffer.concat([Buffer.alloc(7), body, Buffer.alloc(9)]).subarray(7, -9)
  t.strictSame((await checks.checkBatch(view)).members, members)
})

t.test('a body may change and be freed while it is checked', async t => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const start = () => {
    const body = fullBody()
    const checked = checks.checkBatch(body)
    body.fill(0)
    return checked
  }
  const running = Array.from({ length: QUEUE_MAX }, start)
  collect()
  // These would reuse memory that was freed too early.
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

t.test('a full queue refuses further checks, and queued ones complete', async t => {
  const body = fullBody()
  const outcomes = await Promise.allSettled(
    Array.from({ length: 64 }, async () => checks.checkBatch(body)),
  )
  const refused = outcomes.flatMap(outcome =>
    outcome.status === 'rejected' ? [outcome.reason as unknown] : [],
  )
  t.ok(refused.length > 0 && refused.length <= 64 - QUEUE_MAX, `${refused.length} refused`)
  for (const error of refused)
    t.ok(error instanceof RpcError && error.name === 'checksOverloaded', String(error))
  for (const outcome of outcomes)
    if (outcome.status === 'fulfilled') t.equal(outcome.value.members.length, 16)
  t.equal(checks.waiting(), 0)
})

t.test('a process may exit during a check', async t => {
  const script = scriptPath('test/fixtures/native/check-and-exit')
  for (let nth = 0; nth < 2; nth++) {
    const child = spawn(
      process.execPath,
      [...process.execArgv, script, fullBody().toString('base64')],
      { stdio: ['ignore', 'ignore', 'inherit'], timeout: 20_000 },
    )
    t.strictSame(await once(child, 'exit'), [0, null])
  }
})

t.test('invalid rules are refused', async t => {
  const make = (addresses: string[][], exemptPrograms: string[] = []) =>
    createTransactionChecks(
      {
        tipClasses: addresses.map(list => ({ addresses: list, floorLamports: 1n })),
        exemptPrograms,
        signatureRule: 'strict',
      },
      POOL,
    )
  t.throws(() => make([[SERVICE_TIP], [ENGINE_TIP, SERVICE_TIP]]), { code: 'internal' })
  const rules = { tipClasses: [], exemptPrograms: [], signatureRule: 'any' }
  const wrong = rules as unknown as Parameters<typeof createTransactionChecks>[0]
  t.throws(() => createTransactionChecks(wrong, POOL), { code: 'internal' })
  t.throws(() => make([['x'.repeat(20)]]), { name: 'pubkeySize' })
  t.throws(() => make([], ['l'.repeat(32)]), { name: 'pubkeyDecode' })
  t.doesNotThrow(() => make([[SERVICE_TIP, SERVICE_TIP]], [SYSTEM, SYSTEM]))
  // Without a class no tip is required.
  const free = await make([]).checkBundle([member(1).toString('base64')], 1_232)
  t.match(free.members, [{ tips: [], qualifies: true }])
})

t.test('arbitrary bodies get a verdict without a crash', async t => {
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
