// Over real sockets, with the connections of lanes as clients.
import t, { type Test } from 'tap'
import { listenOverQuic } from '../../fixtures/lanes/quic-clients.js'
import { openTestLander } from '../../fixtures/submission/lander.js'
import { ACCEPT, signatureOf } from '../../fixtures/submission/transactions.js'
import type { Script } from '../../fixtures/submission/raw-upstream.js'
import { FLOOR, tipping } from '../../fixtures/sandbox/tipping.js'
import { until } from '../../fixtures/until.js'

const open = async (t: Test, script: Script = ACCEPT) => {
  const opened = await openTestLander(t, script)
  return { ...opened, ...listenOverQuic(t, opened.edge) }
}

t.test('transactions on streams of both kinds reach the lander', async t => {
  const { connect, quicServer, raw, token } = await open(t)
  const [asking, telling] = [connect(token), connect(token, { isAnswered: false })]
  await Promise.all([asking.untilUp(), telling.untilUp()])
  const all = Array.from({ length: 20 }, () => tipping([FLOOR, 0]))
  t.strictSame(
    await Promise.all(all.map(asking.ask)),
    all.map(one => `200 ${signatureOf(one)}`),
  )
  t.match(await asking.ask(Buffer.alloc(0)), /^400 invalid transaction payload: /)
  t.equal(await telling.ask(tipping([FLOOR, 0])), 'written')
  await until('it is there', () => raw.received.length === 21)
  t.match(quicServer.stats(), { connections: 2, streamsReset: 0, streamsRefused: 0 })
})

t.test('who may not connect is told why', async t => {
  const { connect, edge, token } = await open(t)
  t.match(await connect('nobody').ended(), /invalid_auth/)
  t.match(await connect(edge.elsewhere).ended(), /invalid_auth/)
  t.match(await connect(token, { isProtected: true }).ended(), /protection_unavailable/)
  await edge.limit({ socketsMax: 0 })
  t.match(await connect(token).ended(), /connection_limit/)
})

t.test('a revoked token ends its connections, and no other ones', async t => {
  const held: (() => void)[] = []
  const { connect, edge, token } = await open(t, (s, request) =>
    held.push(() => ACCEPT(s, request)),
  )
  const [revoked, other] = [connect(token), connect(edge.other)]
  await Promise.all([revoked.untilUp(), other.untilUp()])
  const asked = [revoked, other].map(({ ask }) => ask(tipping([FLOOR, 0])))
  await until('both are at the lander', () => held.length === 2)
  await edge.revoke()
  for (const release of held) release()
  t.equal(await asked[0], 'unknown')
  t.match(await asked[1], /^200 /)
  t.match(await revoked.ended(), /invalid_auth/)
})

t.test('a drain answers what is in flight, and closes idle connections at once', async t => {
  const held: (() => void)[] = []
  const { connect, edge, quicServer, token } = await open(t, (s, request) =>
    held.push(() => ACCEPT(s, request)),
  )
  const [busy, idle] = [connect(token), connect(edge.other)]
  await Promise.all([busy.untilUp(), idle.untilUp()])
  const asked = busy.ask(tipping([FLOOR, 0]))
  await until('it is at the lander', () => held.length === 1)
  const drained = quicServer.drain(20_000)
  t.match(await idle.ended(), /unavailable/)
  held[0]?.()
  t.match(await asked, /^200 /)
  await drained
  t.match(await busy.ended(), /unavailable/)
})
