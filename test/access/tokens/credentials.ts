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
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { createAuthenticate } from '../../../src/access/authenticate.js'
import { openReader } from '../../../src/access/store/store.js'
import { NEW_ACCESS, NOW_MS, openControl } from '../../fixtures/access/access.js'

const placeOf = (accessId: string, location = 'fra') => ({ accessId, network: 'main', location })

t.test('a place has one token at most', async t => {
  const { store, entitlement, credentials } = await openControl(t.testdir())
  const { accessId } = await entitlement.grant(NEW_ACCESS)
  const place = placeOf(accessId)
  t.equal(await credentials.reveal(place), undefined)
  t.strictSame(credentials.list(accessId), [])

  const [first, second] = await Promise.allSettled([
    credentials.generate(place),
    credentials.generate(place),
  ])
  t.equal(first.status, 'fulfilled')
  t.match(second, { status: 'rejected', reason: { name: 'tokenActive' } })
  await t.rejects(credentials.generate(place), { name: 'tokenActive' })

  const other = await entitlement.grant(NEW_ACCESS)
  await credentials.generate(placeOf(other.accessId))
  await credentials.generate(placeOf(accessId, 'nyc'))
  t.strictSame(
    credentials.list(accessId).map(({ network, location }) => [network, location]),
    [
      ['main', 'fra'],
      ['main', 'nyc'],
    ],
  )
  await store.close()
})

/** One step of the model: what is asked for, of which of the places. */
const step = fc.record({
  verb: fc.constantFrom('generate', 'regenerate', 'revoke', 'restrict', 'lift', 'end', 'extend'),
  at: fc.nat(5),
})

t.test('any sequence of changes: a dead secret stays dead, other places are untouched', async t => {
  const dir = t.testdir()
  const { store, entitlement, credentials } = await openControl(dir)
  const reader = await openReader(dir)
  let version = 0
  const authenticate = createAuthenticate(reader, () => version)
  type Token = { readonly text: string; readonly address: string | undefined }
  const run = async (steps: readonly { verb: string; at: number }[]): Promise<void> => {
    const accessIds: string[] = []
    for (let count = 0; count < 2; count++)
      accessIds.push((await entitlement.grant(NEW_ACCESS)).accessId)
    const places = accessIds.flatMap(accessId => [
      placeOf(accessId),
      placeOf(accessId, 'nyc'),
      { ...placeOf(accessId), network: 'dev' },
    ])
    const active = new Map<number, Token>()
    const dead = new Set<string>()
    const ended = new Set<string>()
    for (const { verb, at } of steps) {
      const place = places[at] ?? placeOf('')
      const token = active.get(at)
      const isEnded = ended.has(place.accessId)
      const make = async (
        create: typeof credentials.generate,
        address: string | undefined,
        refusal: string | undefined,
      ): Promise<void> => {
        if (refusal !== undefined) return void (await t.rejects(create(place), { name: refusal }))
        if (token !== undefined) dead.add(token.text)
        active.set(at, { text: (await create(place)).token.reveal(), address })
      }
      const none = token === undefined ? { name: 'noToken' } : undefined
      if (verb === 'generate')
        await make(
          credentials.generate,
          undefined,
          isEnded ? 'accessEnded' : token && 'tokenActive',
        )
      else if (verb === 'regenerate')
        await make(credentials.regenerate, token?.address, isEnded ? 'accessEnded' : none?.name)
      else if (verb === 'end') {
        await entitlement.end(place.accessId)
        ended.add(place.accessId)
      } else if (verb === 'extend') {
        await entitlement.extend(place.accessId, null)
        ended.delete(place.accessId)
      } else if (none !== undefined)
        await t.rejects(async () => {
          if (verb === 'revoke') await credentials.revoke(place)
          else await credentials.restrict(place, '')
        }, none)
      else if (verb === 'revoke') {
        await credentials.revoke(place)
        dead.add(token?.text ?? '')
        active.delete(at)
      } else {
        const address = verb === 'lift' ? undefined : `8.8.8.${at}`
        await credentials.restrict(place, address ?? ' ')
        active.set(at, { text: token?.text ?? '', address })
      }
      version++
      // From 8.8.8.0, which only the first place is ever restricted to.
      const open = (text: string, location: string) =>
        authenticate(text, location, { address: '8.8.8.0' }, NOW_MS)
      for (const text of dead)
        for (const location of ['fra', 'nyc'])
          if (open(text, location) !== 'unauthorized') throw new Error('a dead secret lives')
      for (const [index, { text, address }] of active) {
        const { accessId, network, location } = places[index] ?? placeOf('')
        const answer = open(text, location)
        const isOpen = !ended.has(accessId) && (address === undefined || index === 0)
        if (isOpen ? typeof answer === 'string' : answer !== 'forbidden')
          throw new Error(`place ${index} after ${verb} of ${at}: ${JSON.stringify(answer)}`)
        if (typeof answer !== 'string' && answer.network !== network) throw new Error('network')
      }
      const kept = accessIds.flatMap(accessId => credentials.list(accessId))
      if (kept.length !== active.size) throw new Error(`${kept.length}, not ${active.size} tokens`)
    }
  }
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 30 }), run), {
    numRuns: 12,
    endOnFailure: true,
  })
  const [...digests] = store.digests.from(new Uint8Array())
  const count = entitlement
    .page('', 10_000)
    .flatMap(({ accessId }) => credentials.list(accessId)).length
  t.equal(digests.length, count, 'each token has its digest, and no digest is alone')
  t.ok(count > 0)
  await reader.close()
  await store.close()
})

t.test('a token can be revoked after its access ended, but not made', async t => {
  let nowMs = NOW_MS
  const { store, entitlement, credentials } = await openControl(t.testdir(), () => nowMs)
  const later = await entitlement.grant({ ...NEW_ACCESS, validFromMs: NOW_MS + 1 })
  await t.rejects(credentials.generate(placeOf(later.accessId)), { name: 'accessUpcoming' })
  const { accessId } = await entitlement.grant({ ...NEW_ACCESS, validUntilMs: NOW_MS + 1 })
  const place = placeOf(accessId)
  const { address } = await credentials.generate(place)
  t.equal(address, undefined)
  await t.rejects(credentials.restrict(place, '10.0.0.1'), { name: 'notPublicIpv4' })
  nowMs++
  await t.rejects(credentials.regenerate(place), { name: 'accessEnded' })
  t.match(await credentials.restrict(place, '8.8.8.8'), { address: '8.8.8.8' })
  await credentials.revoke(place)
  t.strictSame(credentials.list(accessId), [])
  t.equal(await credentials.reveal(place), undefined)
  await store.close()
})

t.test('a token needs an access that holds and offers the place', async t => {
  let nowMs = NOW_MS
  const { store, entitlement, credentials } = await openControl(t.testdir(), () => nowMs)
  const access = await entitlement.grant({ ...NEW_ACCESS, validUntilMs: NOW_MS + 10 })
  const { accessId } = access
  t.strictSame(entitlement.find(accessId), access)
  t.strictSame(entitlement.listOf('ada'), [access])
  t.strictSame(entitlement.listOf('ben'), [])
  const cases: [
    name: string,
    place: Parameters<typeof credentials.generate>[0],
    error: { name: string } | { message: RegExp },
  ][] = [
    ['no such access', placeOf('acc_none'), { name: 'noSuchAccess' }],
    ['another location', placeOf(accessId, 'sin'), { message: /not offer this location/ }],
    [
      'another network',
      { ...placeOf(accessId), network: 'x' },
      { message: /not offer this network/ },
    ],
  ]
  for (const [name, place, error] of cases)
    await t.rejects(credentials.generate(place), error, name)
  nowMs = NOW_MS + 10
  await t.rejects(credentials.generate(placeOf(accessId)), { name: 'accessEnded' })
  nowMs--
  await t.resolves(credentials.generate(placeOf(accessId)))
  await store.close()
})

t.test('a token can be shown again after a restart', async t => {
  const dir = t.testdir()
  const before = await openControl(dir)
  const { accessId } = await before.entitlement.grant(NEW_ACCESS)
  const place = placeOf(accessId)
  const { token, tail } = await before.credentials.generate(place)
  await before.store.close()
  t.equal(statSync(before.keyFile).mode & 0o777, 0o600)

  const after = await openControl(dir)
  t.equal((await after.credentials.reveal(place))?.reveal(), token.reveal())
  t.equal(tail, token.reveal().slice(-4))
  await after.store.close()
})

t.test('without its key a token works but cannot be shown', async t => {
  const dir = t.testdir()
  const first = await openControl(dir)
  const { accessId } = await first.entitlement.grant(NEW_ACCESS)
  const place = placeOf(accessId)
  const text = (await first.credentials.generate(place)).token.reveal()
  await first.store.close()
  const { keyFile } = first
  const kept = `${keyFile}.kept`
  renameSync(keyFile, kept)

  const cases: [name: string, spoil: () => void, message: RegExp][] = [
    ['missing', () => rmSync(keyFile, { force: true }), /is missing; restore it/],
    [
      'another key',
      () => writeFileSync(keyFile, `${'ab'.repeat(32)}\n`, { mode: 0o600 }),
      /not the key of this store/,
    ],
    ['no key at all', () => writeFileSync(keyFile, 'hello\n', { mode: 0o600 }), /64 hexadecimal/],
    ['readable by others', () => chmodSync(keyFile, 0o644), /chmod 600/],
  ]
  for (const [name, spoil, message] of cases) {
    spoil()
    const control = await openControl(dir)
    await t.rejects(control.credentials.reveal(place), { name: 'SealingKeyError', message }, name)
    await t.rejects(control.credentials.generate(placeOf(accessId, 'nyc')), { message }, name)
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
  renameSync(kept, keyFile)
  const control = await openControl(dir)
  t.equal((await control.credentials.reveal(place))?.reveal(), text)
  await control.store.close()
})

t.test(
  'a writer that is killed loses nothing it has answered, and leaves nothing half',
  async t => {
    const dir = t.testdir()
    const script = fileURLToPath(new URL('../../fixtures/access-writer.ts', import.meta.url))
    const first = await openControl(dir)
    const { accessId } = await first.entitlement.grant({
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
      writer.stdin.on('error', () => {}) // its end is what is tested
      const left = Array.from({ length: 200 }, (_, n) => `l${answered.size + n}`)
      for (const location of left)
        writer.stdin.write(`${JSON.stringify({ generate: placeOf(accessId, location) })}\n`)
      // It is amid the next one or two when it is killed.
      let count = 0
      for await (const line of createInterface({ input: writer.stdout })) {
        const { location, text } = JSON.parse(line)
        answered.set(location, text)
        if (count++ === killAfter) writer.kill('SIGKILL')
      }

      const { store, credentials } = await openControl(dir)
      const reader = await openReader(dir)
      const authenticate = createAuthenticate(reader, () => 1)
      for (const [location, text] of answered) {
        const grant = authenticate(text, location, { address: '192.0.2.1' }, NOW_MS)
        if (typeof grant === 'string') t.fail(`${location}: ${grant}`)
      }
      const kept = credentials.list(accessId)
      const [...digests] = store.digests.from(new Uint8Array())
      t.equal(digests.length, kept.length, 'each token has its digest, and no digest is alone')
      t.ok(kept.length >= answered.size && kept.length <= answered.size + 2, `${kept.length} kept`)
      for (const place of kept) {
        const text = (await credentials.reveal(place))?.reveal() ?? ''
        t.match(authenticate(text, place.location, { address: '' }, NOW_MS), {
          tokenId: place.tokenId,
        })
        answered.set(place.location, text)
      }
      await reader.close()
      await store.close()
    }
  },
)

t.test('a sealed token moved to another place does not open', async t => {
  const { store, entitlement, credentials } = await openControl(t.testdir())
  const { accessId } = await entitlement.grant(NEW_ACCESS)
  await credentials.generate(placeOf(accessId, 'fra'))
  await credentials.generate(placeOf(accessId, 'nyc'))
  const fra = store.tokens.get([accessId, 'main', 'fra'])
  if (fra === undefined) return t.fail('no record')
  await store.transaction(() => store.tokens.put([accessId, 'main', 'nyc'], fra))
  await t.rejects(credentials.reveal(placeOf(accessId, 'nyc')))
  await store.close()
})

t.test('a token stands in no file and in nothing that prints', async t => {
  const dir = t.testdir()
  const { store, entitlement, credentials, keyFile } = await openControl(dir)
  const { accessId } = await entitlement.grant(NEW_ACCESS)
  const place = placeOf(accessId)
  const generated = await credentials.generate(place)
  const text = generated.token.reveal()
  const reader = await openReader(dir)
  const authenticate = createAuthenticate(reader, () => 1)
  const objects = {
    generated,
    revealed: await credentials.reveal(place),
    list: credentials.list(accessId),
    grant: authenticate(text, 'fra', { address: '192.0.2.1' }, NOW_MS),
    record: store.tokens.get([accessId, 'main', 'fra']),
    store,
    credentials,
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
    t.notOk(bytes.includes(text.slice(4, 36)), `${name} holds no token`)
    t.notOk(bytes.includes(secret), `${name} holds no key`)
  }
})
