import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { askAdmin, grantScope, type AdminAnswer } from '../../fixtures/dashboard/admin.js'
import { sharedSandbox } from '../../fixtures/processes/shared-sandbox.js'
import { until } from '../../fixtures/until.js'
import { isSoak } from '../../fixtures/soak.js'

const ROUNDS = isSoak ? 200 : 4
/** Upper bound of a change on an idle machine: kills occur before, during and after it. */
const CHANGE_MS = 16
/** Factor of the next kill's delay after a change that was not made: it takes longer here. */
const LATER = 1.5

t.test('kill -9 of control during changes: each change is complete or absent', async t => {
  t.setTimeout(ROUNDS * 15_000 + 60_000)
  const deployment = await sharedSandbox('--edges', '2', '--traffic', '0')
  const { tokenPath, accessId } = await grantScope(deployment)
  const body = '{"jsonrpc":"2.0","id":1,"method":"getLatestBlockhash"}'
  const statusOf = async (token: string): Promise<number> => {
    const url = `http://127.0.0.1:${deployment.port}/${token}`
    const headers = { 'content-type': 'application/json', connection: 'close' }
    return (await fetch(url, { method: 'POST', headers, body })).status
  }
  const isBack = async (): Promise<boolean> => {
    try {
      return (await askAdmin(deployment, 'GET', `/accesses/${accessId}`)).status === 200
    } catch {
      return false
    }
  }

  const first = await askAdmin(deployment, 'POST', tokenPath)
  let current: string | undefined = String(first.body['token'])
  const revoked = new Set<string>()
  const wrong: string[] = []
  const outcomes = { answered: 0, made: 0, notMade: 0 }
  let changeMs = CHANGE_MS
  for (let round = 0; round < ROUNDS; round += 1) {
    // Revokes an existing token; in two of three rounds replaces it instead.
    const path = current === undefined ? tokenPath : `${tokenPath}/regenerate`
    const change: Promise<AdminAnswer> =
      current !== undefined && round % 3 === 2
        ? askAdmin(deployment, 'DELETE', tokenPath)
        : askAdmin(deployment, 'POST', path)
    const answered = change.catch(() => undefined)
    // The first kill is after its change, so that one change at least is made on any machine.
    if (round === 0) await answered
    else await sleep((changeMs * round) / ROUNDS)
    const [pid] = deployment.pidsOf('control')
    if (pid === undefined) throw new Error('control does not run')
    process.kill(pid, 'SIGKILL')
    const answer = await answered
    await until('control runs', isBack)

    const shown = await askAdmin(deployment, 'POST', `${tokenPath}/reveal`)
    const now = shown.status === 200 ? String(shown.body['token']) : undefined
    const isMade = now !== current
    if (answer !== undefined) {
      outcomes.answered += 1
      const answeredToken = answer.status === 204 ? undefined : String(answer.body['token'])
      if (answeredToken !== now) wrong.push(`round ${round}: the answered change was not stored`)
    } else if (isMade) outcomes.made += 1
    else outcomes.notMade += 1
    changeMs = isMade ? Math.max(CHANGE_MS, changeMs / LATER) : changeMs * LATER
    if (isMade && current !== undefined) revoked.add(current)
    if (now !== undefined && (await statusOf(now)) !== 200)
      wrong.push(`round ${round}: the token that is shown does not work`)
    for (const token of revoked) {
      // Each connection is new, so both edges are most likely reached.
      const statuses = await Promise.all([statusOf(token), statusOf(token), statusOf(token)])
      if (statuses.some(status => status !== 401))
        wrong.push(`round ${round}: a revoked token was answered with ${statuses.join(' ')}`)
    }
    const { body: access } = await askAdmin(deployment, 'GET', `/accesses/${accessId}`)
    const { tokens } = access
    const count = Array.isArray(tokens) ? tokens.length : -1
    if (count !== (now === undefined ? 0 : 1)) wrong.push(`round ${round}: ${count} tokens`)
    current = now
  }
  t.comment(JSON.stringify(outcomes))
  t.strictSame(wrong, [])
  t.ok(revoked.size > 0, 'some changes were made')
})
