import { request } from 'node:http'
import t from 'tap'
import { openListener } from '../../../src/native/os.js'
import { openMetricsPage } from '../../../src/supervision/metrics/metrics-page.js'
import { createLog } from '../../../src/shared/log.js'
import { freePorts } from '../../fixtures/free-ports.js'

t.test('metrics are served under names of this machine, and not through a proxy', async t => {
  const port = await freePorts()
  const page = await openMetricsPage({
    host: '127.0.0.1',
    descriptor: openListener('127.0.0.1', port),
    hosts: ['node-1.internal'],
    collect: () => Promise.resolve([]),
    collectMs: 1_000,
    log: createLog('test', () => {}),
  })
  t.teardown(() => page.close())
  const ask = (headers: Record<string, string>) =>
    new Promise<number>((resolve, reject) => {
      const options = { port, host: '127.0.0.1', path: '/metrics', agent: false, headers }
      request(options, response => {
        response.resume()
        resolve(response.statusCode ?? 0)
      })
        .on('error', reject)
        .end()
    })
  t.equal(await ask({}), 200)
  t.equal(await ask({ host: `localhost:${port}` }), 200)
  t.equal(await ask({ host: 'node-1.internal:9464' }), 200)
  t.equal(await ask({ host: 'evil.example' }), 404)
  t.equal(await ask({ 'x-forwarded-for': '203.0.113.7' }), 404)
})
