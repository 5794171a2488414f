// Warnings of a sandbox that arrive at a receiver with TLS, through faults of both sides.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { askAdmin } from '../../fixtures/dashboard/admin.js'
import { DashboardClient } from '../../fixtures/dashboard/dashboard-client.js'
import { openReceiver, signatureOf } from '../../fixtures/dashboard/receiver.js'
import { makeAuthority } from '../../fixtures/ingest/authority.js'
import { ownDir } from '../../fixtures/own-dir.js'
import { startDeployment } from '../../fixtures/processes/deployment.js'
import { requirePid } from '../../fixtures/processes/require-pid.js'
import { until } from '../../fixtures/until.js'

const DAY_MS = 86_400_000

/** Members of a JSON object; none where it is no object. */
const membersOf = (json: unknown): Readonly<Record<string, unknown>> =>
  typeof json === 'object' && json !== null ? { ...json } : {}

t.test('a warning is delivered once, through 500, silence and kill -9', async t => {
  const { caPem, tls } = makeAuthority()
  const receiver = await openReceiver(t, tls)
  const dir = ownDir(t)
  const caFile = join(dir, 'ca.pem')
  writeFileSync(caFile, caPem)
  const deployment = await startDeployment(t, {
    dataDir: join(dir, 'data'),
    args: ['--edges', '1', '--traffic', '0'],
    variables: [`NODE_EXTRA_CA_CERTS=${caFile}`],
  })
  const { dashboardUrl, identity } = deployment.description
  const client = new DashboardClient(dashboardUrl)
  await client.signIn(identity.users[0])
  const { subject } = membersOf((await client.ask('/api/session')).json)
  const granted = await askAdmin(deployment, 'POST', '/accesses', {
    subject,
    kind: 'rental',
    product: 'node-access',
    validUntilMs: Date.now() + DAY_MS,
  })
  const accessId = String(granted.body['accessId'])
  const path = `/api/accesses/${accessId}/webhooks`
  const deliveries = async (): Promise<readonly unknown[]> => {
    const answer = await client.ask(path, { headers: { connection: 'close' } })
    const [webhook] = membersOf(answer.json)['webhooks'] as readonly unknown[]
    return membersOf(webhook)['deliveries'] as readonly unknown[]
  }

  // The first attempt fails, the second one is cut off by a kill of control.
  const answers = [500]
  receiver.answer = response => {
    const status = answers.shift()
    if (status !== undefined) response.writeHead(status).end()
  }
  const made = await client.call('POST', path, { url: receiver.url }, { connection: 'close' })
  t.equal(made.status, 200)
  const secret = String(membersOf(made.json)['secret'])
  await until('the second attempt waits for an answer', () => receiver.received.length === 2)
  t.match(await deliveries(), [
    { kind: 'rental-ending', state: 'pending', attempts: 2, status: 500 },
  ])
  process.kill(requirePid(deployment.pidsOf('control')[0]), 'SIGKILL')
  receiver.answer = response => response.writeHead(204).end()
  await until('it is delivered', async () => {
    const found = await deliveries().catch(() => [])
    return membersOf(found[0])['state'] === 'delivered'
  })
  const count = receiver.received.length
  t.ok(count >= 3, 'the attempt that was cut off was repeated')
  t.match(await deliveries(), [{ attempts: count, status: 204, problem: '' }])
  // Three more rounds.
  await sleep(6_000)
  t.equal(receiver.received.length, count, 'it lasts, and is not sent again')
  t.equal(new Set(receiver.received.map(({ id }) => id)).size, 1)
  for (const received of receiver.received)
    t.equal(received.signature, signatureOf(secret, received))
  const metrics = await (await fetch(deployment.description.metricsUrl)).text()
  // Those of the process that was killed are gone with it.
  t.match(metrics, /^slotline_webhook_attempts_total\{[^}]*outcome="delivered"[^}]*\} 1$/m)
  t.match(receiver.received[0]?.body, {
    type: 'access.rental-ending',
    data: { accessId, warnings: [{ network: null, location: null }] },
  })

  const audit = readdirSync(join(deployment.dataDir, 'audit')).map(name =>
    readFileSync(join(deployment.dataDir, 'audit', name), 'utf8'),
  )
  for (const text of [deployment.output(), audit.join('')])
    t.notOk(text.includes(secret) || text.includes('canary'), 'no secret is logged')
  t.match(audit.join(''), '"action":"set-webhook"')
  t.equal(await deployment.stop(), 0)
})
