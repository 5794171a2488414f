import t from 'tap'
import { openDevUpstream } from '../../../src/sandbox/http/dev-upstream.js'
import { openQuicLander } from '../../../src/sandbox/upstreams/quic-lander.js'
import { createLog } from '../../../src/shared/log.js'
import { createConnect } from '../../fixtures/lanes/quic-clients.js'

t.test('a stream is what a request to /send-bin is, faults included', async t => {
  const lander = await openDevUpstream({}, ({ method, pathname, headers, body }) => ({
    status: body.length === 0 ? 400 : 200,
    contentType: 'text/plain',
    body: `${method} ${pathname} ${String(headers['x-api-key'])} ${body.toString()}`,
  }))
  const log = createLog('test', () => {})
  const quic = openQuicLander({ lander, log, port: 0 })
  t.teardown(async () => {
    quic.close()
    await lander.close()
  })
  const connect = createConnect(t, quic.port)
  const client = connect('hml-sandbox', { isProtected: true })
  await client.untilUp()
  t.equal(await client.ask(Buffer.from('one')), '200 POST /send-bin hml-sandbox one')
  t.equal(await client.ask(Buffer.alloc(0)), '400 POST /send-bin hml-sandbox ')
  const control = `${lander.url}/_control`
  await fetch(control, { method: 'POST', body: '{"status":429,"body":"slow down","times":1}' })
  t.equal(await client.ask(Buffer.from('two')), '429 slow down')
  t.equal(await client.ask(Buffer.from('three')), '200 POST /send-bin hml-sandbox three')
  const { received } = (await (await fetch(control)).json()) as { received: { body: string }[] }
  t.strictSame(
    received.map(({ body }) => body),
    ['one', '', 'two', 'three'],
  )
  t.match(await connect('hml-sandbo').ended(), 'invalid_auth')
})
