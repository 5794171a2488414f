import {
  chmodSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { inspect } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { createAuthenticate, isRefusal, REFUSAL_ERRORS } from '../../../src/access/authenticate.js'
import { openReader } from '../../../src/access/store/store.js'
import { NEW_ACCESS, NOW_MS, openControl } from '../../fixtures/access/access.js'
import { scriptPath } from '../../fixtures/repository.js'

const scopeOf = (accessId: string, location = 'fra') => ({ accessId, network: 'main', location })

t.test('a scope has at most one token', async t => {
  const { store, accessManager, tokenManager } = await openControl(t.testdir())
  const { accessId } = await accessManager.grant(NEW_ACCESS)
  const scope = scopeOf(accessId)
  t.equal(await tokenManager.reveal(scope), undefined)
  t.strictSame(tokenManager.list(accessId), [])

  const [first, second] = await Promise.allSettled([
    tokenManager.generate(scope),
    tokenManager.generate(scope),
  ])
  t.equal(first.status, 'fulfilled')
  t.match(second, { status: 'rejected', reason: { name: 'tokenActive' } })
  await t.rejects(tokenManager.generate(scope), { name: 'tokenActive' })

  const other = await accessManager.grant(NEW_ACCESS)
  await tokenManager.generate(scopeOf(other.accessId))
  await tokenManager.generate(scopeOf(accessId, 'nyc'))
  t.strictSame(
    tokenManager.list(accessId).map(({ network, location }) => [network, location]),
    [
      ['main', 'fra'],
      ['main', 'nyc'],
    ],
  )
  await store.close()
})

/** One step of the model: an operation and its scope. */
const step = fc.record({
  verb: fc.constantFrom('generate', 'regenerate', 'revoke', 'restrict', 'lift', 'end', 'extend'),
  at: fc.nat(5),
})

t.test(
  'any sequence of changes: a revoked secret stays invalid, other scopes are unchanged',
  async t => {
    const dir = t.testdir()
    const { store, accessManager, tokenManager } = await openControl(dir)
    const reader = await openReader(dir)
    let version = 0
    const authenticate = createAuthenticate(reader, () => version)
    type Token = { readonly text: string; readonly address: string | undefined }
    const run = async (steps: readonly { verb: string; at: number }[]): Promise<void> => {
      const accessIds: string[] = []
      for (let count = 0; count < 2; count++)
        accessIds.push((await accessManager.grant(NEW_ACCESS)).accessId)
      const scopes = accessIds.flatMap(accessId => [
        scopeOf(accessId),
        scopeOf(accessId, 'nyc'),
        { ...scopeOf(accessId), network: 'dev' },
      ])
      const active = new Map<number, Token>()
      const revoked = new Set<string>()
      const ended = new Set<string>()
      for (const { verb, at } of steps) {
        const scope = scopes[at] ?? scopeOf('')
        const token = active.get(at)
        const isEnded = ended.has(scope.accessId)
        const make = async (
          create: typeof tokenManager.generate,
          address: string | undefined,
          refusal: string | undefined,
        ): Promise<void> => {
          if (refusal !== undefined) return void (await t.rejects(create(scope), { name: refusal }))
          if (token !== undefined) revoked.add(token.text)
          active.set(at, { text: (await create(scope)).token.reveal(), address })
        }
        const none = token === undefined ? { name: 'noToken' } : undefined
        if (verb === 'generate')
          await make(
            tokenManager.generate,
            undefined,
            isEnded ? 'accessEnded' : token && 'tokenActive',
          )
        else if (verb === 'regenerate')
          await make(tokenManager.regenerate, token?.address, isEnded ? 'accessEnded' : none?.name)
        else if (verb === 'end') {
          await accessManager.end(scope.accessId)
          ended.add(scope.accessId)
        } else if (verb === 'extend') {
          await accessManager.extend(scope.accessId, null)
          ended.delete(scope.accessId)
        } else if (none !== undefined)
          await t.rejects(async () => {
            if (verb === 'revoke') await tokenManager.revoke(scope)
            else await tokenManager.restrict(scope, '')
          }, none)
        else if (verb === 'revoke') {
          await tokenManager.revoke(scope)
          revoked.add(token?.text ?? '')
          active.delete(at)
        } else {
          const address = verb === 'lift' ? undefined : `8.8.8.${at}`
          await tokenManager.restrict(scope, address ?? ' ')
          active.set(at, { text: token?.text ?? '', address })
        }
        version++
        // From 8.8.8.0: only the first scope is ever restricted to it.
        const open = (text: string, location: string) => {
          const answer = authenticate(text, location, { address: '8.8.8.0' }, NOW_MS)
          return isRefusal(answer) ? REFUSAL_ERRORS[answer.reason] : answer
        }
        for (const text of revoked)
          for (const location of ['fra', 'nyc'])
            if (open(text, location) !== 'unauthorized')
              throw new Error('a revoked token is accepted')
        for (const [index, { text, address }] of active) {
          const { accessId, network, location } = scopes[index] ?? scopeOf('')
          const answer = open(text, location)
          const isOpen = !ended.has(accessId) && (address === undefined || index === 0)
          if (isOpen ? typeof answer === 'string' : answer !== 'forbidden')
            throw new Error(`scope ${index} after ${verb} of ${at}: ${JSON.stringify(answer)}`)
          if (typeof answer !== 'string' && answer.network !== network) throw new Error('network')
        }
        const stored = accessIds.flatMap(accessId => tokenManager.list(accessId))
        if (stored.length !== active.size)
          throw new Error(`${stored.length}, not ${active.size} tokens`)
      }
    }
    await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 30 }), run), {
      numRuns: 12,
      endOnFailure: true,
    })
    const digests = [...store.digests.from(new Uint8Array())]
    const accesses = [...store.accesses.from('')].map(([, access]) => access)
    const count = accesses.flatMap(({ tokens }) => tokens).length
    const former = accesses.flatMap(({ formerTokens }) => formerTokens).length
    const indexed = digests.filter(([, token]) => token.former === undefined).length
    t.equal(indexed, count, 'each token has its digest, and no digest is alone')
    t.equal(digests.length - indexed, former, 'so has each former token')
    t.ok(count > 0 && former > 0)
    await reader.close()
    await store.close()
  },
)

t.test('after an access ended its token can be revoked, but not created', async t => {
  let nowMs = NOW_MS
  const { store, accessManager, tokenManager } = await openControl(t.testdir(), () => nowMs)
  const later = await accessManager.grant({ ...NEW_ACCESS, validFromMs: NOW_MS + 1 })
  await t.rejects(tokenManager.generate(scopeOf(later.accessId)), { name: 'accessUpcoming' })
  const { accessId } = await accessManager.grant({ ...NEW_ACCESS, validUntilMs: NOW_MS + 1 })
  const scope = scopeOf(accessId)
  const { address } = await tokenManager.generate(scope)
  t.equal(address, undefined)
  await t.rejects(tokenManager.restrict(scope, '10.0.0.1'), { name: 'notPublicIpv4' })
  nowMs++
  await t.rejects(tokenManager.regenerate(scope), { name: 'accessEnded' })
  t.match(await tokenManager.restrict(scope, '8.8.8.8'), { address: '8.8.8.8' })
  await tokenManager.revoke(scope)
  t.strictSame(tokenManager.list(accessId), [])
  t.equal(await tokenManager.reveal(scope), undefined)
  await store.close()
})

t.test('a token needs a valid access that offers the scope', async t => {
  let nowMs = NOW_MS
  const { store, accessManager, tokenManager } = await openControl(t.testdir(), () => nowMs)
  const access = await accessManager.grant({ ...NEW_ACCESS, validUntilMs: NOW_MS + 10 })
  const { accessId } = access
  t.strictSame(accessManager.find(accessId), access)
  t.strictSame(accessManager.listOf('ada'), [access])
  t.strictSame(accessManager.listOf('ben'), [])
  const cases: [
    name: string,
    scope: Parameters<typeof tokenManager.generate>[0],
    error: { name: string } | { message: RegExp },
  ][] = [
    ['no such access', scopeOf('acc_none'), { name: 'noSuchAccess' }],
    ['another location', scopeOf(accessId, 'sin'), { message: /not offer this location/ }],
    [
      'another network',
      { ...scopeOf(accessId), network: 'x' },
      { message: /not offer this network/ },
    ],
  ]
  for (const [name, scope, error] of cases)
    await t.rejects(tokenManager.generate(scope), error, name)
  nowMs = NOW_MS + 10
  await t.rejects(tokenManager.generate(scopeOf(accessId)), { name: 'accessEnded' })
  nowMs--
  await t.resolves(tokenManager.generate(scopeOf(accessId)))
  await store.close()
})

t.test('a token can be shown after a restart', async t => {
  const dir = t.testdir()
  const before = await openControl(dir)
  const { accessId } = await before.accessManager.grant(NEW_ACCESS)
  const scope = scopeOf(accessId)
  const { token, tail } = await before.tokenManager.generate(scope)
  await before.store.close()
  t.equal(statSync(before.keyFile).mode & 0o777, 0o600)

  const after = await openControl(dir)
  t.equal((await after.tokenManager.reveal(scope))?.reveal(), token.reveal())
  t.equal(tail, token.reveal().slice(-4))
  await after.store.close()
})

t.test('without the sealing key a token is valid but cannot be shown', async t => {
  const dir = t.testdir()
  const first = await openControl(dir)
  const { accessId } = await first.accessManager.grant(NEW_ACCESS)
  const scope = scopeOf(accessId)
  const text = (await first.tokenManager.generate(scope)).token.reveal()
  await first.store.close()
  const { keyFile } = first
  const stored = `${keyFile}.stored`
  renameSync(keyFile, stored)

  const cases: [name: string, alter: () => void, message: RegExp][] = [
    ['missing', () => rmSync(keyFile, { force: true }), /is missing; restore it/],
    [
      'another key',
      () => writeFileSync(keyFile, `${'ab'.repeat(32)}\n`, { mode: 0o600 }),
      /not the key of this store/,
    ],
    ['no key at all', () => writeFileSync(keyFile, 'hello\n', { mode: 0o600 }), /64 hexadecimal/],
    ['readable by others', () => chmodSync(keyFile, 0o644), /chmod 600/],
  ]
  for (const [name, alter, message] of cases) {
    alter()
    const control = await openControl(dir)
    await t.rejects(control.tokenManager.reveal(scope), { name: 'SealingKeyError', message }, name)
    await t.rejects(control.tokenManager.generate(scopeOf(accessId, 'nyc')), { message }, name)
    const reader = await openReader(dir)
    const authenticate = createAuthenticate(reader, () => 1)
    t.match(
      authenticate(text, 'fra', { address: '192.0.2.1' }, NOW_MS),
      { accessId },
      `${name}: it works`,
    )
    await reader.close()
    await control.store.close()
  }
  renameSync(stored, keyFile)
  const control = await openControl(dir)
  t.equal((await control.tokenManager.reveal(scope))?.reveal(), text)
  await control.store.close()
})

t.test('a killed writer keeps every answered change, and no partial one', async t => {
  const dir = t.testdir()
  const script = scriptPath('test/fixtures/access/access-writer')
  const first = await openControl(dir)
  const { accessId } = await first.accessManager.grant({
    ...NEW_ACCESS,
    locations: Array.from({ length: 1_000 }, (_, n) => `l${n}`),
  })
  await first.store.close()

  const answered = new Map<string, string>()
  for (const killAfter of [0, 1, 7, 40]) {
    const stdio = ['pipe', 'pipe', 'inherit'] as const
    const writer = spawn(process.execPath, [...process.execArgv, script, dir], {
      stdio: [...stdio],
    })
    writer.stdin.on('error', () => {}) // the process is killed by the test
    const left = Array.from({ length: 200 }, (_, n) => `l${answered.size + n}`)
    for (const location of left)
      writer.stdin.write(`${JSON.stringify({ generate: scopeOf(accessId, location) })}\n`)
    // The writer is in the next one or two changes when it is killed.
    let count = 0
    for await (const line of createInterface({ input: writer.stdout })) {
      const { location, text } = JSON.parse(line)
      answered.set(location, text)
      if (count++ === killAfter) writer.kill('SIGKILL')
    }
    t.ok(count > killAfter, `${count} changes were answered before the kill`)

    const { store, tokenManager } = await openControl(dir)
    const reader = await openReader(dir)
    const authenticate = createAuthenticate(reader, () => 1)
    for (const [location, text] of answered) {
      const grant = authenticate(text, location, { address: '192.0.2.1' }, NOW_MS)
      if (isRefusal(grant)) t.fail(`${location}: ${grant.reason}`)
    }
    const stored = tokenManager.list(accessId)
    const [...digests] = store.digests.from(new Uint8Array())
    t.equal(digests.length, stored.length, 'each token has its digest, and no digest is alone')
    t.ok(
      stored.length >= answered.size && stored.length <= answered.size + 2,
      `${stored.length} stored`,
    )
    for (const scope of stored) {
      const text = (await tokenManager.reveal(scope))?.reveal() ?? ''
      t.match(authenticate(text, scope.location, { address: '' }, NOW_MS), {
        tokenId: scope.tokenId,
      })
      answered.set(scope.location, text)
    }
    await reader.close()
    await store.close()
  }
})

t.test('a sealed token moved to another scope cannot be opened', async t => {
  const { store, journal, accessManager, tokenManager } = await openControl(t.testdir())
  const { accessId } = await accessManager.grant(NEW_ACCESS)
  await tokenManager.generate(scopeOf(accessId, 'fra'))
  await journal.propose({
    accessId,
    update: access => {
      if (access === undefined) throw new Error('no access')
      return { ...access, tokens: access.tokens.map(token => ({ ...token, location: 'nyc' })) }
    },
  })
  await t.rejects(tokenManager.reveal(scopeOf(accessId, 'nyc')))
  await store.close()
})

t.test('no file and no printed object contains a token', async t => {
  const dir = t.testdir()
  const { store, accessManager, tokenManager, keyFile } = await openControl(dir)
  const { accessId } = await accessManager.grant(NEW_ACCESS)
  const scope = scopeOf(accessId)
  const generated = await tokenManager.generate(scope)
  const text = generated.token.reveal()
  const reader = await openReader(dir)
  const authenticate = createAuthenticate(reader, () => 1)
  const objects = {
    generated,
    revealed: await tokenManager.reveal(scope),
    list: tokenManager.list(accessId),
    grant: authenticate(text, 'fra', { address: '192.0.2.1' }, NOW_MS),
    record: store.accesses.get(accessId),
    store,
    tokenManager,
    authenticate,
  }
  for (const [name, object] of Object.entries(objects)) {
    const printed = inspect(object, { depth: 10, showHidden: true }) + String(object)
    t.notOk(printed.includes(text), `inspect ${name}`)
    t.notOk((JSON.stringify(object) ?? '').includes(text), `JSON of ${name}`)
  }
  await reader.close()
  await store.close()
  const secret = readFileSync(keyFile, 'utf8').trim()
  for (const name of readdirSync(join(dir, 'access'))) {
    const bytes = readFileSync(join(dir, 'access', name)).toString('latin1')
    t.notOk(bytes.includes(text.slice(4, 36)), `${name} contains no token`)
    t.notOk(bytes.includes(secret), `${name} contains no key`)
  }
})
