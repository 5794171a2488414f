import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ownDir } from '../../fixtures/own-dir.js'
import { openCommands } from '../../fixtures/processes/commands.js'

/** An admin API that gives these answers to the calls of one command, in order. */
const openApi = async (t: Test, answers: readonly object[], status = 200) => {
  const calls: string[] = []
  const server = createServer((request, response) => {
    // The command asks first whether anything answers.
    if (request.method === 'HEAD') return void response.end()
    const answer = answers[Math.min(calls.length, answers.length - 1)]
    calls.push(`${request.method} ${request.url}`)
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(answer))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const tokenFile = join(ownDir(t), 'admin.token')
  writeFileSync(tokenFile, `sla_${'a'.repeat(43)}\n`, { mode: 0o600 })
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return { calls, target: ['--url', `http://127.0.0.1:${port}`, '--token-file', tokenFile] }
}

const run = openCommands(t)

const STATE = { keyId: 'new', formerKeyIds: ['old'], accesses: 1, resealed: 1, unreadable: 0 }

t.test('resealing is waited for', async t => {
  const done = { ...STATE, formerKeyIds: [], state: 'done' }
  const running = { ...STATE, state: 'running' }
  const { calls, target } = await openApi(t, [running, running, done])
  const { code, output } = await run('admin', 'reseal', '--json', ...target)
  t.equal(code, 0, output)
  t.strictSame(JSON.parse(output), done)
  t.strictSame(calls, ['POST /admin/sealing/reseal', 'GET /admin/sealing', 'GET /admin/sealing'])
})

t.test('a failure is its reason, and exit code 1', async t => {
  const { target } = await openApi(t, [{ ...STATE, state: 'failed', reason: 'the disk is full' }])
  t.strictSame(await run('admin', 'reseal', ...target), {
    code: 1,
    output: 'slotline: it failed: the disk is full\n',
  })
})

t.test('a repeated revocation says since when the first one is in effect', async t => {
  const machines = [
    { id: 'fra-1', by: 'confirmed' },
    { id: 'fra-2', by: 'lease' },
  ]
  const effect = { revision: 7, deadAtMs: Date.UTC(2026, 10, 27), machines }
  const error = { code: 'noToken', message: 'no token' }
  const args = ['access', 'token', 'revoke', 'acc_1', 'main', 'fra']
  for (const [body, expected] of [
    [
      { error, effect },
      'slotline: no token; in effect since 2026-11-27T00:00:00.000Z at revision 7, on fra-1 (confirmed), fra-2 (lease)\n',
    ],
    [{ error }, 'slotline: no token\n'],
    [{ error, effect: { revision: 7, machines: [] } }, 'slotline: no token\n'],
    [{ error, effect: null }, 'slotline: no token\n'],
  ] as const) {
    const { target } = await openApi(t, [body], 404)
    t.strictSame(await run(...args, ...target), { code: 1, output: expected })
  }
})

t.test('a role is needed, and another one than these is refused', async t => {
  for (const args of [[], ['--role', 'owner'], ['--role', 'read', '--until', 'soon']])
    t.equal((await run('admin', 'token', 'make', 'x', ...args)).code, 2, args.join(' '))
})
