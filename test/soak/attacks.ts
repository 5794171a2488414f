import { setTimeout as sleep } from 'node:timers/promises'
import { startAttack } from '../fixtures/attacks/attack.js'
import { ATTACKS } from '../fixtures/attacks/attacks.js'
import { startBystander, type Measured } from '../fixtures/attacks/bystander.js'
import { readLoopTurns, type LoopTurns } from '../fixtures/attacks/loop-turns.js'
import { askAdmin, grantScope } from '../fixtures/dashboard/admin.js'
import { startDeployment, type Deployment } from '../fixtures/processes/deployment.js'
import { soakTest } from '../fixtures/soak.js'

/** How long each attack lasts. */
const ATTACK_MS = 5_000
/** What an attack may add to the bystander's p99.9. */
const ADDED_MS_MAX = 10
/** The longest turn of an edge's event loop, in processor time. */
const TURN_MS_MAX = 5
/** The limits that a product gives by default. */
const LIMITS = { requestsPerSecondMax: 100, requestsBurstMax: 200, requestsInFlightMax: 64 }

const createToken = async (
  deployment: Deployment,
  limits?: Readonly<Record<string, number>>,
): Promise<string> => {
  const { tokenPath } = await grantScope(deployment, 'fra', limits)
  const { body } = await askAdmin(deployment, 'POST', tokenPath)
  return String(body['token'])
}

type Row = Measured & LoopTurns

/** Measures a bystander and the event loop, beside an attack where one is named. */
const measure = async (
  deployment: Deployment,
  bystander: string,
  attack?: string,
): Promise<Row> => {
  const { port, description } = deployment
  const { samples } = description
  const token = await createToken(deployment, LIMITS)
  const body = `{"jsonrpc":"2.0","id":1,"method":"getAccountInfo","params":["${samples['tokenAccount']}"]}`
  const path = `/${bystander}`
  const client = await startBystander({ port, path, body, connections: 4, pauseMs: 1 })
  await readLoopTurns(deployment)
  const stop =
    attack === undefined
      ? undefined
      : startAttack({ name: attack, target: { port, token, samples } })
  await sleep(ATTACK_MS)
  const measured = await client.stop()
  const turns = await readLoopTurns(deployment)
  await stop?.()
  return { ...measured, ...turns }
}

const ms = (value: number): string => value.toFixed(2).padStart(8)

const format = (name: string, row: Row): string =>
  `${name.padEnd(40)} ${String(row.count).padStart(6)} ${ms(row.p50Ms)} ${ms(row.p999Ms)} ` +
  `${ms(row.maxMs)} ${row.wrong} ${ms(row.longestMs)} ${ms(row.longestCpuMs)}`

soakTest('a bystander does not notice what another access sends', {}, async t => {
  t.setTimeout(900_000)
  const deployment = await startDeployment(t, { args: ['--edges', '1', '--traffic', '0'] })
  const bystander = await createToken(deployment)
  await measure(deployment, bystander)
  const before = await measure(deployment, bystander)
  t.comment('attack: answers, p50, p99.9, max, wrong, longest turn, its processor time')
  t.comment(format('idle', before))
  const only = process.env['SLOTLINE_ATTACK'] ?? ''
  const rows: [name: string, row: Row][] = []
  for (const { name } of ATTACKS.filter(one => one.name.includes(only))) {
    const row = await measure(deployment, bystander, name)
    t.comment(format(name, row))
    rows.push([name, row])
  }
  const after = await measure(deployment, bystander)
  t.comment(format('idle', after))
  const p999MsMax = Math.max(before.p999Ms, after.p999Ms) + ADDED_MS_MAX
  for (const [name, { wrong, p999Ms, longestCpuMs }] of rows) {
    t.equal(wrong, 0, `${name}: no wrong answer`)
    t.ok(p999Ms <= p999MsMax, `${name}: p99.9 of ${p999Ms.toFixed(1)} ms`)
    t.ok(longestCpuMs <= TURN_MS_MAX, `${name}: a turn of ${longestCpuMs.toFixed(1)} ms`)
  }
})
