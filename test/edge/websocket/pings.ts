import t from 'tap'
import { defaults } from '../../../src/config/sections/process-options.js'
import { LIMITS } from '../../fixtures/access/access.js'
import { KEY, openBoth, read } from '../../fixtures/edge/direct.js'
import { openSocket } from '../../fixtures/server/socket.js'
import { until } from '../../fixtures/until.js'

const PING = '{"jsonrpc":"2.0","method":"ping"}'

t.test('a socket over its limit is not read for a while', async t => {
  const { ordinary, client } = await openBoth(t, {
    ...LIMITS,
    requestsPerSecondMax: 1,
    requestsBurstMax: 1,
  })
  const { socketPauseMs, socketRefusedMax } = defaults
  const socket = await openSocket(ordinary.port, { path: `/${client.token}` })
  const startMs = performance.now()
  for (let nth = 0; nth < 10 * socketRefusedMax; nth++) socket.send(read(KEY, nth))
  await until('the last answer', () => socket.messages.length === 10 * socketRefusedMax)
  const tookMs = performance.now() - startMs
  // What comes with the last one of a turn is answered before the pause.
  t.ok(tookMs > 2 * socketPauseMs, `${Math.round(tookMs)} ms`)
  socket.destroy()
})

t.test('a ping is free, and many of them close their own socket alone', async t => {
  const { ordinary, client } = await openBoth(t, {
    ...LIMITS,
    requestsPerSecondMax: 1,
    requestsBurstMax: 3,
  })
  const path = `/${client.token}`
  const [bystander, flooding] = [
    await openSocket(ordinary.port, { path }),
    await openSocket(ordinary.port, { path }),
  ]
  for (let nth = 0; nth < 100; nth++) bystander.send(PING)
  bystander.send(read(KEY, 1))
  t.match(await bystander.next(), '"result"', 'pings took nothing from the rate')
  bystander.send(read(KEY, 2))
  t.match(await bystander.next(), '"result"')
  // Another form of it is a call.
  bystander.send(` ${PING}`)
  bystander.send(read(KEY, 3))
  t.match(await bystander.next(), '"message":"Too many requests"')
  // 64 KiB of them, of which older ones count less, are read in 3.5 s.
  for (let nth = 0; nth < 3_000; nth++) flooding.send(PING)
  t.match(await flooding.closed, { code: 1013, reason: 'over a limit' })
  t.notOk(bystander.socket.destroyed)
  bystander.destroy()
})
