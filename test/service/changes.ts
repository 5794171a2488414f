import t from 'tap'
import { changeUnderLoad } from '../fixtures/processes/changed-service.js'

t.test('a reload and an upgrade under load over TLS drop nothing', async t => {
  const report = await changeUnderLoad(t, {
    requestsPerSecond: 200,
    connectsPerSecond: 20,
    bundlesPerSecond: 10,
    sockets: 20,
    isSecure: true,
    changes: ['reload', 'upgrade'],
  })
  const { answered, bundles, certificates, closes, failures, miscounted } = report
  t.comment(`${answered} answers, ${bundles} of them of bundles; closes ${JSON.stringify(closes)}`)
  t.strictSame(failures, [])
  t.strictSame(Object.keys(closes), ['1012'])
  t.strictSame(miscounted, [])
  t.strictSame(certificates, ['second', 'first'], 'each change has another certificate')
  t.ok(answered > 500 && bundles > 10)
})
