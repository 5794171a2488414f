import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import t from 'tap'
import { defaults } from '../../../src/dashboard/webhooks/options.js'
import { createResolve, TargetError } from '../../../src/dashboard/webhooks/resolve.js'
import { openNameServer } from '../../fixtures/dashboard/name-server.js'

const HOOK = new URL('https://hooks.example.com/')
const RESERVED = new TargetError(
  'hooks.example.com resolves to an address of a private or reserved network',
)

t.test('a name with public addresses', async t => {
  const server = await openNameServer(t, [['8.8.8.8', '1.1.1.1']])
  t.strictSame(await createResolve(defaults, [server])(HOOK), [
    { address: '8.8.8.8', family: 4 },
    { address: '1.1.1.1', family: 4 },
  ])
})

t.test('a name with any other address is refused', async t => {
  for (const addresses of [['127.0.0.1'], ['8.8.8.8', '10.0.0.1'], ['169.254.169.254']]) {
    const server = await openNameServer(t, [addresses])
    await t.rejects(createResolve(defaults, [server])(HOOK), RESERVED, addresses.join())
  }
})

t.test('a name without an address, and a name server without an answer', async t => {
  const server = await openNameServer(t, [[]])
  await t.rejects(
    createResolve(defaults, [server])(HOOK),
    new TargetError('hooks.example.com has no address'),
  )
  const silent = createSocket('udp4').bind(0, '127.0.0.1')
  await once(silent, 'listening')
  t.teardown(() => silent.close())
  await t.rejects(
    createResolve({ ...defaults, resolveMs: 50 }, [`127.0.0.1:${silent.address().port}`])(HOOK),
    new TargetError('the name server did not answer for hooks.example.com'),
  )
})

t.test('addresses in place of a name, and this machine itself', async t => {
  const strict = createResolve(defaults)
  const sandbox = createResolve({ ...defaults, allowLoopback: true })
  t.strictSame(await strict(new URL('https://8.8.8.8/')), [{ address: '8.8.8.8', family: 4 }])
  for (const url of ['https://[::1]/', 'https://localhost/', 'https://10.0.0.1/'])
    await t.rejects(strict(new URL(url)), TargetError, url)
  t.strictSame(await sandbox(new URL('http://localhost:1/')), [
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ])
  await t.rejects(sandbox(new URL('http://10.0.0.1/')), TargetError)
})
