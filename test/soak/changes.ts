import { changeUnderLoad } from '../fixtures/processes/changed-service.js'
import { soakTest } from '../fixtures/soak.js'

/** An upgrade after every fourth reload. */
const CHANGES = Array.from({ length: 25 }, (_, index) => (index % 5 === 4 ? 'upgrade' : 'reload'))

soakTest('20 reloads and 5 upgrades under load drop nothing', {}, async t => {
  const report = await changeUnderLoad(t, {
    requestsPerSecond: 2_000,
    connectsPerSecond: 100,
    bundlesPerSecond: 20,
    sockets: 500,
    changes: CHANGES,
  })
  const { answered, bundles, changeSeconds, closes, failures, miscounted } = report
  t.comment(`${answered} answers, ${bundles} of them of bundles; closes ${JSON.stringify(closes)}`)
  t.comment(`seconds of the changes: ${changeSeconds.join(', ')}`)
  t.strictSame(failures.slice(0, 20), [], `${failures.length} failures`)
  t.strictSame(Object.keys(closes), ['1012'])
  t.strictSame(miscounted, [])
})

soakTest('reloads with another certificate and an upgrade over TLS drop nothing', {}, async t => {
  const report = await changeUnderLoad(t, {
    requestsPerSecond: 1_000,
    connectsPerSecond: 50,
    bundlesPerSecond: 20,
    sockets: 250,
    isSecure: true,
    changes: CHANGES.slice(0, 5),
  })
  const { answered, certificates, closes, failures, miscounted } = report
  t.comment(`${answered} answers; closes ${JSON.stringify(closes)}`)
  t.strictSame(failures.slice(0, 20), [], `${failures.length} failures`)
  t.strictSame(Object.keys(closes), ['1012'])
  t.strictSame(miscounted, [])
  t.strictSame(certificates, ['second', 'first', 'second', 'first', 'second'])
})
