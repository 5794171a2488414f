import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { AccessJournal } from '../../../src/access/journal/access-journal.js'
import { createResealer, type ResealState } from '../../../src/access/tokens/resealer.js'
import { readSealingKeyId } from '../../../src/access/tokens/sealing.js'
import { createWebhookManager } from '../../../src/access/webhooks/webhook-manager.js'
import { NEW_ACCESS, NOW_MS, openControl, type Control } from '../../fixtures/access/access.js'
import { scriptPath } from '../../fixtures/repository.js'
import { randomBytes } from 'node:crypto'

const LOCATIONS = ['fra', 'nyc'] as const
const scopeOf = (accessId: string, location: string) => ({ accessId, network: 'main', location })
const keysIn = (file: string): string[] => readFileSync(file, 'utf8').trim().split('\n')

/** Accesses with a token at each location; answers the tokens by access and location. */
const fill = async ({ accessManager, tokenManager }: Control, count: number) => {
  const tokens = new Map<string, string>()
  for (let index = 0; index < count; index++) {
    const { accessId } = await accessManager.grant(NEW_ACCESS)
    for (const location of LOCATIONS) {
      const { token } = await tokenManager.generate(scopeOf(accessId, location))
      tokens.set(`${accessId} ${location}`, token.reveal())
    }
  }
  return tokens
}

/** What is shown in place of each token. */
const shown = async ({ tokenManager }: Control, tokens: ReadonlyMap<string, string>) => {
  const found = new Map<string, string | undefined>()
  for (const name of tokens.keys()) {
    const [accessId = '', location = ''] = name.split(' ')
    found.set(name, (await tokenManager.reveal(scopeOf(accessId, location)))?.reveal())
  }
  return found
}

type Given = { readonly isShared?: boolean; readonly journal?: AccessJournal }

const reseal = async (control: Control, given: Given = {}): Promise<ResealState> => {
  const { store, journal, sealing } = control
  return new Promise((resolve, reject) => {
    const parts = { store, journal, sealing, isShared: false, ...given }
    const settle = () => store.transaction(() => {})
    createResealer({ ...parts, settle, onEnd: resolve })
      .start()
      .catch(reject)
  })
}

t.test('everything is sealed with a new key, and nothing with the former one', async t => {
  const control = await openControl(t.testdir())
  const { accessManager, keyFile, journal, sealing, store } = control
  const tokens = await fill(control, 150)
  const webhooks = createWebhookManager({ store, journal, sealing, randomBytes, now: () => NOW_MS })
  const { accessId } = await accessManager.grant(NEW_ACCESS)
  const webhook = await webhooks.add(accessId, new URL('https://example.com/hook?key=canary'))
  const { secret } = await webhooks.reveal(accessId, webhook)
  const former = keysIn(keyFile)

  const ended = await reseal(control)
  t.match(ended, { state: 'done', accesses: 151, resealed: 302, unreadable: 0, formerKeyIds: [] })
  t.equal(keysIn(keyFile).length, 1)
  t.notSame(keysIn(keyFile), former)
  t.equal(ended.keyId, readSealingKeyId(keyFile))
  t.strictSame(await shown(control, tokens), tokens)
  const [after] = webhooks.of(accessId)
  if (after === undefined) return t.fail('the webhook is gone')
  const target = await webhooks.reveal(accessId, after)
  t.equal(target.secret.reveal(), secret.reveal())
  t.equal(target.url.reveal(), 'https://example.com/hook?key=canary')
  await control.close()
})

t.test('tokens that are made, replaced and revoked meanwhile are right at the end', async t => {
  const control = await openControl(t.testdir())
  const { keyFile, tokenManager } = control
  const tokens = await fill(control, 120)
  const names = [...tokens.keys()]
  const running = reseal(control)
  let isRunning = true
  void running.finally(() => (isRunning = false))
  let changes = 0
  // One client changes, others look, as long as it runs.
  const change = async (): Promise<void> => {
    for (let at = 0; isRunning && at < names.length; at++, changes++) {
      const name = names[names.length - 1 - at] ?? ''
      const [accessId = '', location = ''] = name.split(' ')
      if (at % 3 === 0) {
        await tokenManager.revoke(scopeOf(accessId, location))
        tokens.delete(name)
      }
      const make = at % 3 === 0 ? tokenManager.generate : tokenManager.regenerate
      const { token } = await make(scopeOf(accessId, location))
      tokens.set(name, token.reveal())
    }
  }
  const look = async (): Promise<void> => {
    for (let at = 0; isRunning; at++) {
      const [accessId = '', location = ''] = (names[at % names.length] ?? '').split(' ')
      await tokenManager.reveal(scopeOf(accessId, location))
      await sleep(0)
    }
  }
  await Promise.all([change(), look(), look()])
  t.match(await running, { state: 'done', unreadable: 0 })
  t.ok(changes > 0, `${changes} changes came in between`)
  t.equal(keysIn(keyFile).length, 1)
  t.strictSame(await shown(control, tokens), tokens)
  await control.close()
})

t.test('two requests at the same time make one key', async t => {
  const control = await openControl(t.testdir())
  const { keyFile, journal, sealing, store } = control
  const tokens = await fill(control, 3)
  await new Promise<void>((resolve, reject) => {
    const parts = { store, journal, sealing, isShared: false, settle: () => Promise.resolve() }
    const resealer = createResealer({ ...parts, onEnd: () => resolve() })
    Promise.all([resealer.start(), resealer.start()]).catch(reject)
  })
  t.equal(keysIn(keyFile).length, 1)
  t.strictSame(await shown(control, tokens), tokens)
  await control.close()
})

t.test('a failure leaves everything readable, and the next one continues', async t => {
  const control = await openControl(t.testdir())
  const { keyFile, journal } = control
  const tokens = await fill(control, 40)
  let left = 10
  const failing: AccessJournal = {
    ...journal,
    prove: () => journal.prove(),
    follow: (after, signal) => journal.follow(after, signal),
    propose: change => {
      if (left-- <= 0) return Promise.reject(new Error('the disk is full'))
      return journal.propose(change)
    },
  }
  t.match(await reseal(control, { journal: failing }), {
    state: 'failed',
    reason: 'the disk is full',
  })
  t.equal(keysIn(keyFile).length, 2, 'both keys are kept')
  t.throws(() => readSealingKeyId(keyFile), /has 2 keys: first have everything sealed/)
  t.strictSame(await shown(control, tokens), tokens)
  const keys = keysIn(keyFile)
  t.match(await reseal(control), { state: 'done' })
  t.strictSame(keysIn(keyFile), keys.slice(0, 1), 'with the key that it had begun with')
  t.strictSame(await shown(control, tokens), tokens)
  await control.close()
})

t.test('what no key unseals stays as it is, and is counted', async t => {
  const control = await openControl(t.testdir())
  const { journal } = control
  const tokens = await fill(control, 2)
  const [name = ''] = tokens.keys()
  const [accessId = ''] = name.split(' ')
  await journal.propose({
    accessId,
    update: current => {
      if (current === undefined) throw new Error('no access')
      const [first, ...rest] = current.tokens
      if (first === undefined) throw new Error('no token')
      return { ...current, tokens: [{ ...first, sealed: new Uint8Array(3) }, ...rest] }
    },
  })
  t.match(await reseal(control), { state: 'done', resealed: 3, unreadable: 1 })
  await control.close()
})

t.test('a cluster takes a new key from its files only, and keeps the former one', async t => {
  const control = await openControl(t.testdir())
  const { keyFile } = control
  const tokens = await fill(control, 3)
  const [former = ''] = keysIn(keyFile)
  await t.rejects(reseal(control, { isShared: true }), { name: 'resealInCluster' })
  t.strictSame(keysIn(keyFile), [former])
  const next = 'ab'.repeat(32)
  writeFileSync(keyFile, `${former}\n${next}\n`)
  t.strictSame(await shown(control, tokens), tokens, 'the file is read again')
  writeFileSync(keyFile, `${next}\n${former}\n`)
  t.match(await reseal(control, { isShared: true }), { state: 'done', resealed: 6 })
  t.strictSame(keysIn(keyFile), [next, former])
  t.match(await reseal(control, { isShared: true }), { state: 'done', resealed: 0 })
  writeFileSync(keyFile, `${next}\n`)
  t.strictSame(await shown(control, tokens), tokens)
  await control.close()
})

/** Kills a process that seals again and again; `killMs` after its first sign of life. */
const killAfter = async (t: Test, dir: string, killMs: number): Promise<void> => {
  const script = scriptPath('test/fixtures/access/resealing')
  const child = spawn(process.execPath, [...process.execArgv, script, dir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  await sleep(killMs)
  child.kill('SIGKILL')
  await once(child, 'exit')
}

t.test('a process that is killed at any moment leaves every token readable', async t => {
  const dir = t.testdir()
  const first = await openControl(dir)
  const tokens = await fill(first, 60)
  await first.close()
  let interrupted = 0
  for (const killMs of [0, 1, 2, 3, 5, 8, 13, 21]) {
    await killAfter(t, dir, killMs)
    const control = await openControl(dir)
    if (keysIn(control.keyFile).length > 1) interrupted++
    t.strictSame(await shown(control, tokens), tokens, `killed after ${killMs} ms`)
    t.match(await reseal(control), { state: 'done', unreadable: 0 })
    t.equal(keysIn(control.keyFile).length, 1)
    t.strictSame(await shown(control, tokens), tokens)
    await control.close()
  }
  t.ok(interrupted > 0, `${interrupted} of 8 kills were in the middle`)
})
