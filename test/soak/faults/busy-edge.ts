import t from 'tap'
import { startAttack } from '../../fixtures/attacks/attack.js'
import { askAdmin, grantScope } from '../../fixtures/dashboard/admin.js'
import { startDeployment } from '../../fixtures/processes/deployment.js'
import { until } from '../../fixtures/until.js'

/** At least: they go on until the edge was busy beside them. */
const CHANGES = 100
/** Accesses whose token is generated and revoked at the same time. */
const ACCESSES = 5
/** `processes.accessConfirmMs`: a later confirmation makes the supervisor ask the edge. */
const CONFIRM_MS = 500
/** Requests that were refused: then the floods run. */
const BUSY_REFUSALS = 2_000
/** Both keep an event loop busy as long as they run. */
const FLOODS = ['pipelined unknown tokens', 'calls over the rate']

t.test('an edge that is only busy confirms every change and is not restarted', async t => {
  const deployment = await startDeployment(t, { args: ['--edges', '1', '--traffic', '0'] })
  const { port, description } = deployment
  const [edge] = deployment.pidsOf('edge')
  const attacker = await grantScope(deployment, 'fra', { requestsPerSecondMax: 100 })
  const { body } = await askAdmin(deployment, 'POST', attacker.tokenPath)
  const target = { port, token: String(body['token']), samples: description.samples }
  const stops = FLOODS.map(name => startAttack({ name, target }))
  t.teardown(() => Promise.all(stops.map(stop => stop())))
  const refused = async (): Promise<number> => {
    const page = await (await fetch(description.metricsUrl)).text()
    const rows = page.matchAll(/^slotline_refusals_total\{process="edge 0",[^}]*\} (\d+)$/gm)
    return Array.from(rows, ([, count]) => Number(count)).reduce((sum, count) => sum + count, 0)
  }
  await until('the edge is busy', async () => (await refused()) > BUSY_REFUSALS)

  const before = await refused()
  const times: number[] = []
  const change = async (): Promise<void> => {
    const { tokenPath } = await grantScope(deployment)
    const isBusyEnough = async () => (await refused()) - before > BUSY_REFUSALS
    for (let nth = 0; nth < CHANGES / ACCESSES || !(await isBusyEnough()); nth++) {
      const generated = await askAdmin(deployment, 'POST', tokenPath)
      const startMs = performance.now()
      const revoked = await askAdmin(deployment, 'DELETE', tokenPath)
      times.push(performance.now() - startMs)
      if (generated.status !== 201 || revoked.status !== 204)
        t.fail(`change ${nth}: ${generated.status}, ${revoked.status}`)
    }
  }
  await Promise.all(Array.from({ length: ACCESSES }, change))
  const sorted = times.toSorted((a, b) => a - b).map(Math.round)
  const median = sorted[Math.floor(sorted.length / 2)] ?? NaN
  t.comment(`${sorted.length} revocations took ${median} ms, at most ${sorted.at(-1)} ms`)
  t.ok(sorted.length >= CHANGES && median < CONFIRM_MS, 'confirmed in time')
  const during = (await refused()) - before
  t.ok(during > BUSY_REFUSALS, `${during} requests were refused meanwhile`)
  t.strictSame(deployment.pidsOf('edge'), [edge], 'by the same process')
  t.notMatch(deployment.output(), 'restarting its process')
})
