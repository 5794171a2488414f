import type { Test } from 'tap'
import { startAttack } from '../fixtures/attacks/attack.js'
import { startBystander, type Measured } from '../fixtures/attacks/bystander.js'
import { makeLargeAccounts } from '../fixtures/attacks/large-accounts.js'
import { SLOW_READERS } from '../fixtures/attacks/slow-readers.js'
import { askAdmin, grantScope } from '../fixtures/dashboard/admin.js'
import { startDeployment } from '../fixtures/processes/deployment.js'
import { soakTest } from '../fixtures/soak.js'
import { setTimeout as sleep } from 'node:timers/promises'

/** Longer than a reply that is not read may keep its memory and its thread. */
const ATTACK_MS = 20_000
const IDLE_MS = ATTACK_MS / 4
/** The limits that a product gives by default. */
const LIMITS = { requestsPerSecondMax: 100, requestsBurstMax: 200, requestsInFlightMax: 64 }
/** What an attack may add to the p99.9 of pages and lists, which share their threads with it. */
const ADDED_MS_MAX = 250

const format = (name: string, { count, p50Ms, p99Ms, p999Ms, maxMs, wrong }: Measured): string =>
  `${name.padEnd(64)} ${count} ${[p50Ms, p99Ms, p999Ms, maxMs].map(ms => ms.toFixed(1)).join(' ')} ${wrong}`

const run = async (t: Test): Promise<void> => {
  const args = ['--edges', '1', '--traffic', '0', '--account-dir', makeLargeAccounts(t)]
  const deployment = await startDeployment(t, { args })
  const { port, description } = deployment
  const { samples } = description
  const createToken = async (limits?: Readonly<Record<string, number>>): Promise<string> => {
    const { tokenPath } = await grantScope(deployment, 'fra', limits)
    return String((await askAdmin(deployment, 'POST', tokenPath)).body['token'])
  }
  const path = `/${await createToken()}`
  const call = (method: string, params: unknown[]): string =>
    JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const BODIES = {
    'a page of 100': call('getProgramAccountsV2', [samples['program'], { limit: 100 }]),
    'a list of 200': call('getMultipleAccounts', [Array(200).fill(samples['tokenAccount'])]),
  }
  const measure = async (body: string, attack?: string): Promise<Measured> => {
    const token = await createToken(LIMITS)
    const stop =
      attack === undefined
        ? undefined
        : startAttack({ name: attack, target: { port, token, samples } })
    const client = await startBystander({ port, path, body, connections: 2, pauseMs: 5 })
    await sleep(attack === undefined ? IDLE_MS : ATTACK_MS)
    const measured = await client.stop()
    await stop?.()
    return measured
  }
  t.comment('beside: answers, p50, p99, p99.9, max, wrong')
  for (const [what, body] of Object.entries(BODIES)) {
    const idle = await measure(body)
    t.comment(format(`${what}, idle`, idle))
    for (const { name } of SLOW_READERS) {
      const beside = await measure(body, name)
      t.comment(format(`${what} beside ${name}`, beside))
      const answersMin = (idle.count * ATTACK_MS) / IDLE_MS / 2
      t.ok(beside.count >= answersMin, `${what}: ${beside.count} answers beside ${name}`)
      t.equal(beside.wrong, 0, `${what}: no wrong answer beside ${name}`)
      t.ok(beside.p999Ms <= idle.p999Ms + ADDED_MS_MAX, `${what}: p99.9 beside ${name}`)
    }
  }
}

soakTest('pages and lists are answered beside clients that read slowly', {}, async t => {
  t.setTimeout(600_000)
  await run(t)
})
