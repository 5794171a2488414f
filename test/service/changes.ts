import t from 'tap'
import { changeUnderLoad } from '../fixtures/processes/changed-service.js'

t.test('a reload and an upgrade under load drop nothing', async t => {
  const { answered, bundles, closes, failures, miscounted } = await changeUnderLoad(t, {
    requestsPerSecond: 300,
    connectsPerSecond: 30,
    bundlesPerSecond: 10,
    sockets: 40,
    changes: ['reload', 'upgrade'],
  })
  t.comment(`${answered} answers, ${bundles} of them of bundles; closes ${JSON.stringify(closes)}`)
  t.strictSame(failures, [])
  t.strictSame(Object.keys(closes), ['1012'])
  t.strictSame(miscounted, [])
  t.ok(answered > 500 && bundles > 10)
})
