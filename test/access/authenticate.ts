import { randomBytes } from 'node:crypto'
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import {
  createAuthenticate,
  isRefusal,
  REFUSAL_ERRORS,
  type Refusal,
} from '../../src/access/authenticate.js'
import { openReader } from '../../src/access/store/store.js'
import type { TokenRecord } from '../../src/access/store/tables.js'
import { createToken, TOKEN_CHARS } from '../../src/access/tokens/location-token.js'
import type { Grant } from '../../src/shared/grant.js'
import { LIMITS, NEW_ACCESS, NOW_MS, openControl, type Control } from '../fixtures/access/access.js'
import { scriptPath } from '../fixtures/repository.js'

const ADDRESS = { address: '192.0.2.1' }
const isGrant = (answer: Grant | Refusal): answer is Grant => !isRefusal(answer)
const errorOf = (answer: Grant | Refusal) => isRefusal(answer) && REFUSAL_ERRORS[answer.reason]

/** Replaces each token of an access. */
const changeTokens = (
  { journal }: Control,
  accessId: string,
  replace: (token: TokenRecord) => readonly TokenRecord[],
) =>
  journal.propose({
    accessId,
    update: access => {
      if (access === undefined) throw new Error('no access')
      return { ...access, tokens: access.tokens.flatMap(replace) }
    },
  })

const setUp = async (t: Test) => {
  const dir = t.testdir()
  const control = await openControl(dir)
  const access = await control.accessManager.grant(NEW_ACCESS)
  const scope = { accessId: access.accessId, network: 'main', location: 'fra' }
  const { token, tokenId } = await control.tokenManager.generate(scope)
  const reader = await openReader(dir)
  t.teardown(async () => {
    await reader.close()
    await control.store.close()
  })
  return { dir, control, access, scope, text: token.reveal(), tokenId, reader }
}

t.test('a token gives access to its scope, also from the cache', async t => {
  const { access, text, tokenId, reader } = await setUp(t)
  const authenticate = createAuthenticate(reader, () => 1)
  const grant = authenticate(text, 'fra', ADDRESS, NOW_MS)
  t.strictSame(grant, {
    accessId: access.accessId,
    tokenId,
    network: 'main',
    location: 'fra',
    limits: LIMITS,
    validFromMs: NOW_MS - 1,
    validUntilMs: Infinity,
    address: undefined,
    paramsUntilMs: undefined,
  })
  t.equal(authenticate(text, 'fra', ADDRESS, NOW_MS), grant, 'the same object, not looked up again')
  t.ok(Object.isFrozen(grant))
  t.notMatch(JSON.stringify(grant), text)
})

t.test('ten thousand random tokens are refused', async t => {
  const { text, reader } = await setUp(t)
  const authenticate = createAuthenticate(reader, () => 1)
  const guess = fc.oneof(
    fc.string({ maxLength: 60, unit: 'binary' }),
    fc.stringMatching(/^slt_[0-9A-Za-z]{38}$/),
    fc.constant(0).map(() => createToken(randomBytes)),
    fc.nat(TOKEN_CHARS - 1).map(at => `${text.slice(0, at)}~${text.slice(at + 1)}`),
    fc.constantFrom(`${text} `, ` ${text}`, `${text}\0`, text.toLowerCase(), `${text}/`),
  )
  fc.assert(
    fc.property(
      guess,
      token => errorOf(authenticate(token, 'fra', ADDRESS, NOW_MS)) === 'unauthorized',
    ),
    { numRuns: 10_000 },
  )
  t.ok(isGrant(authenticate(text, 'fra', ADDRESS, NOW_MS)), 'the true one still does')
})

t.test('a token of one scope is refused at every other', async t => {
  const { control, access, reader } = await setUp(t)
  const texts = new Map<string, string>()
  const scopes = [
    { network: 'main', location: 'nyc' },
    { network: 'dev', location: 'fra' },
    { network: 'dev', location: 'nyc' },
  ]
  for (const scope of scopes) {
    const { token } = await control.tokenManager.generate({ accessId: access.accessId, ...scope })
    texts.set(token.reveal(), `${scope.network} ${scope.location}`)
  }
  const authenticate = createAuthenticate(reader, () => 1)
  // Twice: the second time each token is cached, and must be refused as well.
  for (const round of [1, 2])
    for (const [text, scope] of texts)
      for (const location of ['fra', 'nyc', 'FRA', '', '-']) {
        const answer = authenticate(text, location, ADDRESS, NOW_MS)
        const opened = isGrant(answer) ? `${answer.network} ${answer.location}` : errorOf(answer)
        const expected = scope.endsWith(` ${location}`) && location !== '' ? scope : 'unauthorized'
        t.equal(opened, expected, `round ${round}: the token of ${scope} at "${location}"`)
      }
})

t.test('an access is valid from its start, inclusive, to its end, exclusive', async t => {
  const { control, reader } = await setUp(t)
  const [validFromMs, validUntilMs] = [NOW_MS - 10, NOW_MS + 10]
  const access = await control.accessManager.grant({ ...NEW_ACCESS, validFromMs, validUntilMs })
  const scope = { accessId: access.accessId, network: 'main', location: 'fra' }
  const text = (await control.tokenManager.generate(scope)).token.reveal()
  const authenticate = createAuthenticate(reader, () => 1)
  const cases: [atMs: number, isOpen: boolean][] = [
    [validFromMs - 1, false],
    [validFromMs, true],
    [validUntilMs - 1, true],
    [validUntilMs, false],
    [validFromMs, true],
  ]
  for (const [atMs, isOpen] of cases) {
    const answer = authenticate(text, 'fra', ADDRESS, atMs)
    t.equal(isGrant(answer) || errorOf(answer), isOpen || 'forbidden', `${atMs - NOW_MS} ms`)
  }
})

t.test('a restricted token is refused from another address', async t => {
  const { control, scope, text, reader } = await setUp(t)
  const { accessId } = scope
  let version = 1
  const authenticate = createAuthenticate(reader, () => version)
  t.ok(isGrant(authenticate(text, 'fra', { address: '192.0.2.9' }, NOW_MS)))
  // Not by `restrict`, which refuses addresses of documentation.
  await changeTokens(control, accessId, token => [{ ...token, ...ADDRESS }])
  version++
  t.equal(errorOf(authenticate(text, 'fra', { address: '192.0.2.9' }, NOW_MS)), 'forbidden')
  t.ok(isGrant(authenticate(text, 'fra', ADDRESS, NOW_MS)))
})

t.test('the token cache is bounded, and evicted tokens are read again', async t => {
  const { control, text, reader } = await setUp(t)
  const texts = [text]
  for (let count = 0; count < 4; count++) {
    const access = await control.accessManager.grant(NEW_ACCESS)
    const scope = { accessId: access.accessId, network: 'main', location: 'fra' }
    texts.push((await control.tokenManager.generate(scope)).token.reveal())
  }
  const authenticate = createAuthenticate(reader, () => 1, { grantsMax: 2 })
  const [first = ''] = texts
  const grant = authenticate(first, 'fra', ADDRESS, NOW_MS)
  for (const token of [...texts, ...texts])
    t.ok(isGrant(authenticate(token, 'fra', ADDRESS, NOW_MS)))
  const again = authenticate(first, 'fra', ADDRESS, NOW_MS)
  t.strictSame(again, grant)
  t.not(again, grant, 'forgotten in between')
})

t.test('a change by another process applies once the version was raised', async t => {
  // Only the other process opens the writer: two opens in one process would share the state that
  // this test checks.
  const dir = t.testdir()
  const script = scriptPath('test/fixtures/access/access-writer')
  const writer = spawn(process.execPath, [...process.execArgv, script, dir], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.teardown(() => writer.kill('SIGKILL'))
  const answers = createInterface({ input: writer.stdout })[Symbol.asyncIterator]()
  const ask = async (command: unknown) => {
    writer.stdin.write(`${JSON.stringify(command)}\n`)
    return JSON.parse((await answers.next()).value)
  }
  const { accessId } = await ask({ access: NEW_ACCESS })
  const first = await ask({ generate: { accessId, network: 'main', location: 'fra' } })

  const reader = await openReader(dir)
  const version = new Float64Array(new SharedArrayBuffer(8))
  const authenticate = createAuthenticate(reader, () => version[0] ?? 0)
  const before = authenticate(first.text, 'fra', ADDRESS, NOW_MS)
  t.equal(isGrant(before) && before.tokenId, first.tokenId)
  for (const network of ['main', 'dev']) {
    const { text, tokenId } = await ask({ generate: { accessId, network, location: 'nyc' } })
    // Pins the last snapshot but one, as a read in this tick would.
    t.ok(isGrant(authenticate(first.text, 'fra', ADDRESS, NOW_MS)))
    version[0] = (version[0] ?? 0) + 1
    const grant = authenticate(text, 'nyc', ADDRESS, NOW_MS)
    t.equal(isGrant(grant) && grant.tokenId, tokenId, `${network} nyc`)
  }
  const after = authenticate(first.text, 'fra', ADDRESS, NOW_MS)
  t.strictSame(after, before)
  t.not(after, before, 'all that was in memory was dropped')
  await t.rejects(
    reader.transaction(() => reader.meta.remove('store')),
    'a reader cannot write',
  )
  await reader.close()
  writer.stdin.end()
  await new Promise(resolve => writer.once('close', resolve))
})

t.test('a snapshot from before a change is not used after the version was raised', async t => {
  const { control, access, text, reader } = await setUp(t)
  let version = 1
  const authenticate = createAuthenticate(reader, () => version)
  t.ok(isGrant(authenticate(text, 'fra', ADDRESS, NOW_MS)))
  const scope = { accessId: access.accessId, network: 'main', location: 'nyc' }
  const { token } = await control.tokenManager.generate(scope)
  version++
  t.ok(isGrant(authenticate(token.reveal(), 'nyc', ADDRESS, NOW_MS)))
  // Removes the token as a revocation does: it is stored, then the version raised.
  await control.tokenManager.revoke({ accessId: access.accessId, network: 'main', location: 'fra' })
  version++
  t.equal(errorOf(authenticate(text, 'fra', ADDRESS, NOW_MS)), 'unauthorized')
  t.ok(
    isGrant(authenticate(token.reveal(), 'nyc', ADDRESS, NOW_MS)),
    'the other scope is untouched',
  )
})

t.test('an entry of the index without its token opens nothing', async t => {
  const { control, scope, text, reader } = await setUp(t)
  const authenticate = createAuthenticate(reader, () => 1)
  await control.store.transaction(() => control.store.accesses.remove(scope.accessId))
  t.equal(errorOf(authenticate(text, 'fra', ADDRESS, NOW_MS)), 'unauthorized', 'no access')
})

t.test('while the lease has expired no token is decided', async t => {
  const { text, reader } = await setUp(t)
  let version = 1
  const authenticate = createAuthenticate(reader, () => version)
  const other = createToken(randomBytes)
  t.ok(isGrant(authenticate(text, 'fra', ADDRESS, NOW_MS)))
  version = Number.NaN
  for (const [token, location] of [
    [text, 'fra'],
    [text, 'nyc'],
    [other, 'fra'],
    ['', ''],
  ] as const)
    t.strictSame(authenticate(token, location, ADDRESS, NOW_MS), { reason: 'leaseExpired' })
  version = 1
  t.ok(isGrant(authenticate(text, 'fra', ADDRESS, NOW_MS)))
  t.equal(errorOf(authenticate(other, 'fra', ADDRESS, NOW_MS)), 'unauthorized')
})

t.test('a former token works until the chosen time, within the rules of its scope', async t => {
  const { control, scope, text, reader } = await setUp(t)
  const { tokenManager, accessManager } = control
  let version = 1
  const authenticate = createAuthenticate(reader, () => version)
  const see = (token: string, nowMs = NOW_MS, peer = ADDRESS) => {
    const found = authenticate(token, 'fra', peer, nowMs)
    return isRefusal(found) ? found.reason : found.validUntilMs
  }
  const second = (await tokenManager.regenerate(scope, 60_000)).token.reveal()
  version++
  t.equal(see(text), NOW_MS + 60_000, 'its grant ends then')
  t.equal(see(text, NOW_MS + 59_999), NOW_MS + 60_000)
  t.equal(see(text, NOW_MS + 60_000), 'replaced', 'also of a grant that is cached')
  t.equal(see(second, NOW_MS + 60_000), Infinity)
  t.match(tokenManager.list(scope.accessId), [
    { former: { tail: text.slice(-4), endsAtMs: NOW_MS + 60_000 } },
  ])
  t.notSame(
    isRefusal(authenticate(text, 'fra', ADDRESS, NOW_MS)) ||
      authenticate(text, 'fra', ADDRESS, NOW_MS),
    authenticate(second, 'fra', ADDRESS, NOW_MS),
  )

  await tokenManager.restrict(scope, '8.8.8.8')
  version++
  t.equal(see(text), 'address', 'a restriction is that of both')
  t.equal(see(text, NOW_MS, { address: '8.8.8.8' }), NOW_MS + 60_000)
  await tokenManager.restrict(scope, '')
  const third = (await tokenManager.regenerate(scope, 60_000)).token.reveal()
  version++
  t.equal(see(text), 'replaced', 'at most one works beside the new one')
  t.equal(see(second), NOW_MS + 60_000)
  await tokenManager.endFormer(scope)
  version++
  t.strictSame([see(second), see(third)], ['replaced', Infinity])
  await t.rejects(tokenManager.endFormer(scope), { name: 'noToken' })

  const fourth = (await tokenManager.regenerate(scope, 1e12)).token.reveal()
  version++
  t.equal(see(third), NOW_MS + 3_600_000, 'for an hour at most')
  await accessManager.end(scope.accessId)
  version++
  t.strictSame([see(third), see(fourth)], ['ended', 'ended'])
  await accessManager.extend(scope.accessId, null)
  await tokenManager.revoke(scope)
  version++
  t.strictSame([see(third), see(fourth)], ['replaced', 'replaced'], 'revoked with its successor')
})

t.test('a former token of the last 30 days is known in refusals, and opens nothing', async t => {
  const { control, scope, text, reader } = await setUp(t)
  const { tokenManager, accessManager } = control
  let version = 1
  const authenticate = createAuthenticate(reader, () => version)
  const refusalOf = (token: string, nowMs = NOW_MS) => {
    version++
    const refusal = authenticate(token, 'fra', ADDRESS, nowMs)
    t.equal(errorOf(refusal), 'unauthorized')
    return isRefusal(refusal) && [refusal.reason, refusal.scope?.location, refusal.formerTail]
  }
  const tailOf = (token: string) => token.slice(-4)
  const second = (await tokenManager.regenerate(scope)).token.reveal()
  t.strictSame(refusalOf(text), ['replaced', 'fra', tailOf(text)])
  version++
  t.ok(isGrant(authenticate(second, 'fra', ADDRESS, NOW_MS)))
  await tokenManager.restrict(scope, '8.8.8.8')
  t.match(control.store.accesses.get(scope.accessId), { formerTokens: { length: 1 } })
  await tokenManager.revoke(scope)
  t.strictSame(refusalOf(second), ['replaced', 'fra', tailOf(second)], 'revoked')
  const third = (await tokenManager.generate(scope)).token.reveal()
  await accessManager.amend(scope.accessId, terms => ({ ...terms, locations: ['nyc'] }))
  t.strictSame(refusalOf(third), ['replaced', 'fra', tailOf(third)], 'of a location that it lost')
  const monthMs = 30 * 86_400_000
  t.strictSame(refusalOf(third, NOW_MS + monthMs - 1), ['replaced', 'fra', tailOf(third)])
  t.strictSame(refusalOf(third, NOW_MS + monthMs), ['unknown', undefined, undefined])
})
