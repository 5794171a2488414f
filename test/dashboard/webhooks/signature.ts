import { readFileSync } from 'node:fs'
import t from 'tap'
import { signedHeaders } from '../../../src/dashboard/webhooks/signature.js'
import { Secret } from '../../../src/shared/secret.js'
import { repositoryPath } from '../../fixtures/repository.js'

t.test('the test vector of Standard Webhooks', async t => {
  const secret = new Secret('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')
  const message = { messageId: 'msg_p5jXN8AQM9LWM0D4loKWxJek', body: '{"test": 2432232314}' }
  t.strictSame(signedHeaders(secret, message, 1_614_265_330_999), {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  })
})

t.test('the sample of docs/dashboard.md accepts a message, and nothing else', async t => {
  const page = readFileSync(repositoryPath('docs/dashboard.md'), 'utf8')
  const [, code = ''] = /^```js\n(.*?)^```/ms.exec(page) ?? []
  const { isGenuine } = (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as {
    isGenuine: (secret: string, headers: object, body: string, nowMs: number) => boolean
  }
  const nowMs = 1_900_000_000_000
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
  const other = `whsec_${Buffer.alloc(32, 8).toString('base64')}`
  const headers = signedHeaders(new Secret(secret), { messageId: 'msg_1', body: '{}' }, nowMs)
  const several = { ...headers, 'webhook-signature': `v1,AAAA ${headers['webhook-signature']}` }
  t.ok(isGenuine(secret, headers, '{}', nowMs))
  t.ok(isGenuine(secret, several, '{}', nowMs + 299_000), 'one of several signatures')
  t.notOk(isGenuine(secret, headers, '{ }', nowMs), 'another body')
  t.notOk(isGenuine(other, headers, '{}', nowMs), 'another secret')
  t.notOk(isGenuine(secret, { ...headers, 'webhook-id': 'msg_2' }, '{}', nowMs), 'another id')
  t.notOk(isGenuine(secret, headers, '{}', nowMs + 301_000), 'an old one')
  t.notOk(isGenuine(secret, {}, '{}', nowMs), 'no headers')
})
