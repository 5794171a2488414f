import { setTimeout as sleep } from 'node:timers/promises'
import { ATTACKS, type Attack } from '../fixtures/attacks/attacks.js'
import { startBystander, type Measured } from '../fixtures/attacks/bystander.js'
import { askAdmin, grantScope } from '../fixtures/dashboard/admin.js'
import { startDeployment, type Deployment } from '../fixtures/processes/deployment.js'
import { soakTest } from '../fixtures/soak.js'

/** How long each attack lasts. */
const ATTACK_MS = 3_000
/** What an attack may add to the bystander's p99.9. */
const ADDED_MS_MAX = 10
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

const measure = async (
  deployment: Deployment,
  bystander: string,
  attack?: Attack,
): Promise<Measured> => {
  const { port, description } = deployment
  const sample = description.samples['tokenAccount']
  const token = await createToken(deployment, LIMITS)
  const client = await startBystander({
    port,
    path: `/${bystander}`,
    body: `{"jsonrpc":"2.0","id":1,"method":"getAccountInfo","params":["${sample}"]}`,
    pauseMs: 1,
  })
  let isStopped = false
  const running = attack?.run({ port, token }, () => isStopped)
  await sleep(ATTACK_MS)
  const measured = await client.stop()
  isStopped = true
  await Promise.race([running, sleep(2_000)])
  return measured
}

const row = (name: string, { count, p50Ms, p999Ms, maxMs, wrong }: Measured): string =>
  `${name.padEnd(40)} ${String(count).padStart(6)} ${p50Ms.toFixed(2).padStart(8)} ` +
  `${p999Ms.toFixed(2).padStart(8)} ${maxMs.toFixed(2).padStart(8)} ${wrong}`

soakTest('a bystander does not notice what another access sends', {}, async t => {
  t.setTimeout(300_000)
  const deployment = await startDeployment(t, { args: ['--edges', '1', '--traffic', '0'] })
  const bystander = await createToken(deployment)
  await measure(deployment, bystander)
  const idle = await measure(deployment, bystander)
  t.comment(row('attack: answers, p50, p99.9, max, wrong', idle))
  const only = process.env['SLOTLINE_ATTACK'] ?? ''
  for (const attack of ATTACKS.filter(({ name }) => name.includes(only))) {
    const measured = await measure(deployment, bystander, attack)
    t.comment(row(attack.name, measured))
    t.equal(measured.wrong, 0, `${attack.name}: no wrong answer`)
    t.ok(measured.p999Ms <= idle.p999Ms + ADDED_MS_MAX, `${attack.name}: p99.9`)
  }
})
