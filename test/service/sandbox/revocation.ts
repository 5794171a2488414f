import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { askAdmin, grantScope } from '../../fixtures/dashboard/admin.js'
import { sharedSandbox } from '../../fixtures/processes/shared-sandbox.js'
import { startLoadClient } from '../../fixtures/processes/load-client.js'
import { connect, replyCount, statusOf } from '../../fixtures/server/server.js'
import { watchPauses } from '../../fixtures/pauses.js'
import { openFleet } from '../../fixtures/server/socket-fleet.js'
import { until } from '../../fixtures/until.js'
import { isSoak } from '../../fixtures/soak.js'

const ROUNDS = isSoak ? 200 : 4
/** One round in this many stops an edge during the revocation. */
const STOP_EVERY = 3
const PER_SECOND = isSoak ? 5_000 : 1_000
const CONNECTIONS = 48
/** WebSockets of the token, and their total rate besides the other requests. */
const SOCKETS = isSoak ? 500 : 100
const SOCKETS_PER_SECOND = SOCKETS
/**
 * Time by which they are closed (contract: change-in-effect), and in which a reply that was sent
 * before the revocation is read; both without the pauses of this process, which sends the load.
 * Beside other tests both processors are busy.
 */
const CLOSED_MS = isSoak ? 1_000 : 10_000
const ON_ITS_WAY_MS = isSoak ? 1_000 : 10_000

const call = (method: string, params: unknown): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })

t.test('after the answer to a revocation no edge accepts the token', async t => {
  t.setTimeout(ROUNDS * 15_000 + 60_000)
  const deployment = await sharedSandbox('--edges', '2', '--traffic', '0')
  const { samples } = deployment.description
  const { tokenPath } = await grantScope(deployment, 'fra', { socketsMax: 10_000 })
  const small = call('getAccountInfo', [samples['tokenAccount'], { encoding: 'base64' }])
  // Answered by a pool: admitted before the change, answered after it.
  const page = call('getProgramAccountsV2', [samples['program'], { limit: 100 }])
  const loadClient = startLoadClient({
    port: deployment.port,
    bodies: [...Array.from({ length: 31 }, () => small), page],
    connections: CONNECTIONS,
    perSecond: PER_SECOND,
  })
  t.teardown(() => loadClient.stop())

  /** A busy machine may be answered 503: not confirmed yet, and to be asked for again. */
  const change = async (method: 'POST' | 'DELETE', path: string): ReturnType<typeof askAdmin> => {
    const answer = await askAdmin(deployment, method, path)
    return answer.status === 503 && !isSoak ? change(method, path) : answer
  }
  const make = async (path: string): Promise<string> => {
    const { body } = await change('POST', path)
    return String(body['token'])
  }
  /** A request whose headers an edge has admitted, and whose body is incomplete. */
  const openSlowly = async (token: string) => {
    const { socket, until: replyUntil } = await connect(deployment.port)
    const head = `POST /${token} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json`
    socket.write(`${head}\r\nContent-Length: ${small.length}\r\n\r\n${small.slice(0, -1)}`)
    return async (): Promise<string> => {
      socket.write(small.slice(-1))
      const text = await replyUntil(now => replyCount(now) > 0)
      socket.destroy()
      return statusOf(text)
    }
  }

  const pauses = watchPauses(t)
  /** Time that has passed for this process. */
  const since = (fromMs: number, untilMs: number): number =>
    untilMs - fromMs - pauses.between(fromMs, untilMs)
  let token = await make(tokenPath)
  const changeMs: number[] = []
  const wrong: string[] = []
  let [beforeCount, afterCount, endedCount] = [0, 0, 0]
  let [socketReplies, lastClosedMs] = [0, 0]
  const closes = new Map<string, number>()
  const perSecond: number[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    await until('both edges run', () => deployment.pidsOf('edge').length === 2)
    loadClient.setToken(token)
    const startedMs = performance.now()
    await until('the token is in use', () => loadClient.repliesTo(token).length > 500)
    const fleet = await openFleet({
      port: deployment.port,
      token,
      pubkey: samples['wallet'] ?? '',
      count: SOCKETS,
      perSecond: SOCKETS_PER_SECOND,
    })
    await until('every WebSocket is in use', () => fleet.replies.length >= SOCKETS)
    const finish = await openSlowly(token)
    const isStopping = round % STOP_EVERY === STOP_EVERY - 1
    const stopped = deployment.pidsOf('edge')[round % 2]
    // A busy machine may have killed an edge in the previous round.
    if (stopped === undefined) throw new Error('there are not two edges')
    if (isStopping) process.kill(stopped, 'SIGSTOP')

    const startMs = performance.now()
    const isRevoked = round % 2 === 0
    const next = isRevoked ? undefined : await make(`${tokenPath}/regenerate`)
    if (isRevoked) {
      const { status } = await change('DELETE', tokenPath)
      if (status !== 204) wrong.push(`round ${round}: revoke answered ${status}`)
    }
    const endMs = performance.now()
    changeMs.push(endMs - startMs)

    if (isStopping && deployment.pidsOf('edge').includes(stopped)) {
      wrong.push(`round ${round}: the stopped edge is still there`)
      process.kill(stopped, 'SIGCONT')
    } else if (isStopping) endedCount += 1

    await until('every WebSocket is closed', () => fleet.closes.length === SOCKETS)
    fleet.stop()
    for (const { code, reason, atMs } of fleet.closes) {
      const how = `${code} ${reason}`.trim()
      closes.set(how, (closes.get(how) ?? 0) + 1)
      const closedMs = since(endMs, atMs)
      lastClosedMs = Math.max(lastClosedMs, closedMs)
      // The connection breaks if its edge was killed.
      if (how !== '1008 token revoked' && !(isStopping && code === 1006))
        wrong.push(`round ${round}: a WebSocket was closed with ${how}`)
      if (closedMs > CLOSED_MS)
        wrong.push(
          `round ${round}: closed ${Math.round(closedMs)} ms after the answer, ` +
            `and ${Math.round(atMs - endMs - closedMs)} ms of pauses`,
        )
    }
    for (const { isResult, sentMs, receivedMs } of fleet.replies) {
      socketReplies += 1
      if (sentMs > endMs) wrong.push(`round ${round}: a WebSocket was answered after it`)
      else if (!isResult) wrong.push(`round ${round}: a WebSocket was answered with an error`)
      else if (since(endMs, receivedMs) > ON_ITS_WAY_MS)
        wrong.push(`round ${round}: a reply ${Math.round(receivedMs - endMs)} ms after the answer`)
    }

    const slow = await finish()
    // The connection breaks if its edge was killed.
    if (slow !== '401' && slow !== '') wrong.push(`round ${round}: a slow body: ${slow}`)
    await until(
      'requests continue',
      () => loadClient.repliesTo(token).filter(({ sentMs }) => sentMs > endMs).length > 200,
    )
    if (!isStopping)
      perSecond.push((loadClient.repliesTo(token).length * 1_000) / (performance.now() - startedMs))
    if (isStopping) {
      await until('the edge is back', () => deployment.pidsOf('edge').length === 2)
      await until('and listens', async () => {
        const page = await (await fetch(deployment.description.metricsUrl)).text()
        return /process="edge 0"/.test(page) && /process="edge 1"/.test(page)
      })
    }
    for (const { status, sentMs, receivedMs } of loadClient.repliesTo(token)) {
      if (sentMs < endMs) {
        beforeCount += 1
        if (status === 200 && since(endMs, receivedMs) > ON_ITS_WAY_MS)
          wrong.push(`round ${round}: 200, ${Math.round(receivedMs - endMs)} ms after the answer`)
      } else {
        afterCount += 1
        if (status !== 401)
          wrong.push(`round ${round}: ${status} to what was sent ${sentMs - endMs} ms after`)
      }
    }
    token = next ?? (await make(tokenPath))
    await sleep(0)
  }
  const median = (values: readonly number[]): number =>
    Math.round(values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0)
  t.comment(
    `${ROUNDS} rounds, ${beforeCount} requests before and ${afterCount} after, ${median(perSecond)} a second; ` +
      `a change took ${median(changeMs)} ms, at most ${Math.round(Math.max(...changeMs))} ms`,
  )
  t.comment(
    `${socketReplies} replies over WebSockets; closed ${[...closes].map(([how, count]) => `${count} × ${how}`).join(', ')}; ` +
      `the last one ${Math.round(lastClosedMs)} ms after the answer`,
  )
  t.strictSame(wrong.slice(0, 5), [])
  t.equal(endedCount, Math.floor(ROUNDS / STOP_EVERY), 'a stopped edge was ended each time')
  const slowCount = deployment.output().split('did not acknowledge').length - 1 - endedCount
  t.comment(`${slowCount} edges were ended that were only slow`)
  const logged = deployment
    .output()
    .split('\n')
    .filter(line => line.startsWith('{'))
  t.notMatch(logged.join('\n'), /sl[ta]_[0-9A-Za-z]/, 'and no token was logged')
})
