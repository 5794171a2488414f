import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openControlStore } from '../../../src/access/store/control-store.js'
import { ensureAdminToken, readAdminToken } from '../../../src/access/tokens/admin-token.js'
import { ADMIN_TOKENS_MAX, createAdminTokens } from '../../../src/access/tokens/admin-tokens.js'

/** The admin tokens of a data directory, at a time that the test sets. */
const open = (dir: string) => {
  const file = join(dir, 'admin.token')
  ensureAdminToken(file, randomBytes)
  const store = openControlStore(dir)
  const clock = { nowMs: 1_000 }
  const errors: unknown[] = []
  const tokens = createAdminTokens({
    store,
    file,
    randomBytes,
    now: () => clock.nowMs,
    onFileError: error => errors.push(error),
  })
  return { file, store, clock, errors, tokens, own: () => readAdminToken(file).reveal() }
}

const READER = { name: 'grafana', role: 'read', validUntilMs: null } as const

t.test('a token has its role from when it is made until it is ended', async t => {
  const dir = t.testdir()
  const { own, store, tokens } = open(dir)
  t.strictSame(tokens.holderOf(own()), { name: 'file', role: 'owner' })
  const { token, ...info } = await tokens.make(READER)
  t.match(info, { ...READER, createdAtMs: 1_000, tail: token.reveal().slice(-4) })
  const change = await tokens.make({ name: 'ci-2', role: 'change', validUntilMs: null })
  t.strictSame(tokens.holderOf(token.reveal()), { name: 'grafana', role: 'read' })
  t.strictSame(tokens.holderOf(change.token.reveal()), { name: 'ci-2', role: 'change' })
  t.strictSame(
    tokens.list().map(({ name, role }) => `${name} ${role}`),
    ['file owner', 'grafana read', 'ci-2 change'],
  )
  for (const wrong of [
    '',
    'sla_',
    token.reveal().slice(0, -1),
    `${token.reveal()}x`,
    own() + own(),
  ])
    t.equal(tokens.holderOf(wrong), undefined)

  const ending = tokens.end('grafana')
  t.equal(tokens.holderOf(token.reveal()), undefined, 'before the answer')
  await ending
  await t.rejects(tokens.end('grafana'), { name: 'noSuchAdminToken' })
  await t.rejects(tokens.end('file'), { name: 'noSuchAdminToken' })
  await store.close()

  const again = open(dir)
  t.equal(again.tokens.holderOf(token.reveal()), undefined)
  t.match(again.tokens.holderOf(change.token.reveal()), { name: 'ci-2' })
  await again.store.close()
  for (const name of readdirSync(join(dir, 'control')))
    t.notOk(
      readFileSync(join(dir, 'control', name)).includes(change.token.reveal()),
      `${name} has no token`,
    )
})

t.test('a token ends by itself at its time, and its name is free', async t => {
  const { clock, store, tokens } = open(t.testdir())
  const { token } = await tokens.make({ ...READER, validUntilMs: 2_000 })
  await t.rejects(tokens.make({ ...READER, name: 'late', validUntilMs: 1_000 }), {
    name: 'endPassed',
  })
  clock.nowMs = 1_999
  t.match(tokens.holderOf(token.reveal()), { name: 'grafana' })
  await t.rejects(tokens.make(READER), { name: 'adminTokenExists' })
  clock.nowMs = 2_000
  t.equal(tokens.holderOf(token.reveal()), undefined)
  t.equal(tokens.list().length, 1)
  await t.rejects(tokens.end('grafana'), { name: 'noSuchAdminToken' })
  const next = await tokens.make(READER)
  t.match(tokens.holderOf(next.token.reveal()), { name: 'grafana' })
  t.equal(tokens.holderOf(token.reveal()), undefined, 'the former one of this name')
  await store.close()
})

t.test('their number is bounded, also where many are made at the same time', async t => {
  const { store, tokens } = open(t.testdir())
  const names = Array.from({ length: ADMIN_TOKENS_MAX + 20 }, (_, index) => `n${index}`)
  const made = await Promise.allSettled(names.map(name => tokens.make({ ...READER, name })))
  t.equal(made.filter(({ status }) => status === 'fulfilled').length, ADMIN_TOKENS_MAX)
  t.match(made.at(-1), { reason: { name: 'adminTokensFull' } })
  t.equal(tokens.list().length, ADMIN_TOKENS_MAX + 1)
  const same = await Promise.allSettled([
    tokens.end('n0').then(() => tokens.make({ ...READER, name: 'twice' })),
    tokens.end('n1').then(() => tokens.make({ ...READER, name: 'twice' })),
  ])
  t.equal(same.filter(({ status }) => status === 'fulfilled').length, 1, 'a name is had once')
  await t.rejects(tokens.make({ ...READER, name: 'file' }), { name: 'adminTokenExists' })
  await store.close()
})

t.test('the token of the file is replaced while it runs, by a request or by hand', async t => {
  const { errors, file, own, store, tokens } = open(t.testdir())
  const first = own()
  tokens.renewFile()
  t.equal(tokens.holderOf(first), undefined)
  const second = own()
  t.not(first, second)
  t.match(tokens.holderOf(second), { role: 'owner' })

  const third = `sla_${'t'.repeat(43)}`
  writeFileSync(file, third)
  t.equal(tokens.holderOf(second), undefined, 'written by hand')
  t.match(tokens.holderOf(third), { name: 'file' })
  writeFileSync(file, 'half a')
  t.equal(tokens.holderOf(third), undefined)
  t.equal(tokens.holderOf('half a'), undefined)
  rmSync(file)
  t.equal(tokens.holderOf(third), undefined)
  t.strictSame(tokens.list(), [])
  t.equal(errors.length, 2, 'each state is reported once')
  tokens.renewFile()
  t.match(tokens.holderOf(own()), { role: 'owner' })
  await store.close()
})
