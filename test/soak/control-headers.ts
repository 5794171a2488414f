import { request } from 'node:http'
import { askAdmin, grantScope } from '../fixtures/dashboard/admin.js'
import { startDeployment } from '../fixtures/processes/deployment.js'
import { soakTest } from '../fixtures/soak.js'

const CONNECTIONS = 24
const ROUNDS = 20
/** A revocation asks every edge; beside the attack it may wait for what each connection sent. */
const SLOWER_MAX = 5
const SLOWER_BY_MS = 250

const SPACES = ' '.repeat(15_000)
/** Headers that the control process reads without a session. */
const HEADERS: readonly Readonly<Record<string, string>>[] = [
  { cookie: `a=${SPACES}b` },
  { cookie: 'slotline-sign-in-a=b;'.repeat(700) },
  { accept: `text/html;q=0${SPACES}` },
  { authorization: `bearer ${SPACES}b` },
  { 'user-agent': 'Version/1 '.repeat(1_500) },
]

const medianOf = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

soakTest('headers that are sent to control do not delay a revocation', {}, async t => {
  t.setTimeout(300_000)
  const deployment = await startDeployment(t, { args: ['--edges', '1', '--traffic', '0'] })
  const { tokenPath } = await grantScope(deployment, 'fra')
  const revoke = async (): Promise<number> => {
    await askAdmin(deployment, 'POST', tokenPath)
    const startMs = performance.now()
    const { status } = await askAdmin(deployment, 'DELETE', tokenPath)
    t.equal(status, 204)
    return performance.now() - startMs
  }
  const revokeOften = async (): Promise<number> => {
    const all: number[] = []
    for (let round = 0; round < ROUNDS; round++) all.push(await revoke())
    return medianOf(all)
  }
  await revoke()
  const idleMs = await revokeOften()
  for (const headers of HEADERS) {
    let isOver = false
    let answers = 0
    const ask = (): Promise<void> =>
      new Promise(resolve => {
        const url = `${deployment.description.dashboardUrl}api/session`
        const sent = request(url, { headers, agent: false }, response => {
          answers++
          response.resume().on('close', resolve)
        })
        sent.on('error', () => resolve()).end()
      })
    const flood = Array.from({ length: CONNECTIONS }, async () => {
      while (!isOver) await ask()
    })
    const besideMs = await revokeOften()
    isOver = true
    await Promise.all(flood)
    const [name = ''] = Object.keys(headers)
    const shown = `${name}: ${idleMs.toFixed(1)} ms idle, ${besideMs.toFixed(1)} ms beside ${answers} requests`
    t.comment(shown)
    t.ok(besideMs <= idleMs * SLOWER_MAX + SLOWER_BY_MS, shown)
  }
})
