import t from 'tap'
import { LIMITS } from '../../fixtures/access/access.js'
import { KEY, openBoth, read } from '../../fixtures/edge/direct.js'
import { openSocket } from '../../fixtures/server/socket.js'

const PING = '{"jsonrpc":"2.0","method":"ping"}'

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
  for (let nth = 0; nth < 2_100; nth++) flooding.send(PING)
  t.match(await flooding.closed, { code: 1013, reason: 'over a limit' })
  bystander.send(read(KEY, 2))
  t.match(await bystander.next(), '"result"')
  // Another form of it is a call.
  bystander.send(` ${PING}`)
  bystander.send(read(KEY, 3))
  t.match(await bystander.next(), '"message":"Too many requests"')
  bystander.destroy()
})
