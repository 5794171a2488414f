import t from 'tap'
import { StoredSubmissions } from '../../../src/edge/submission/stored-submissions.js'
import { createLog } from '../../../src/shared/log.js'
import { defaults } from '../../../src/submission/store/options.js'
import { TIP_BANDS } from '../../../src/usage/performance.js'
import { HOUR_MS } from '../../../src/usage/scope.js'
import { UsageWriter, type EndRow } from '../../../src/usage/store.js'
import { ownDir } from '../../fixtures/own-dir.js'

/** The most that an access has: lanes of a race, and the upstreams of the other routes. */
const LANES = 20
const HOURS = 24

t.test('the longest answer of getLanePerformance is whole', async t => {
  const dataDir = ownDir(t)
  const writer = new UsageWriter(dataDir)
  const now = Math.floor(Date.now() / HOUR_MS)
  const buckets = '{"1":1,"8":1,"20":1,"30":1,"31":1}'
  for (let hour = 0; hour < HOURS; hour++)
    await writer.addEnds(
      Array.from({ length: LANES }, (_, lane) =>
        TIP_BANDS.map((band): EndRow => [
          ...([`${hour} ${lane} ${band}`, 'acc', 'main', 'fra', '/race', `lane-${lane}`] as const),
          ...([(now - hour) * 60, band, band, 'landed', buckets, buckets] as const),
        ]),
      ).flat(),
    )
  const log = createLog('test', line => t.fail(line))
  const stored = new StoredSubmissions({ dataDir, submissionStore: defaults }, log)
  t.teardown(() => stored.close())
  const config = { id: 'main', lanes: [{}] } as unknown as Parameters<typeof stored.of>[0]
  const reads = stored.of(config)?.queries
  const ask = async (options: object): Promise<readonly { readonly sent: number }[]> => {
    const bytes = await reads?.performance('acc', { ...options })
    return Object(JSON.parse(Buffer.from(bytes ?? []).toString())).lanes
  }
  const lanes = await ask({ grain: 'hour' })
  t.equal(lanes.length, LANES * HOURS)
  t.equal(
    lanes.reduce((sum, { sent }) => sum + sent, 0),
    LANES * HOURS * TIP_BANDS.length,
  )
  t.strictSame(await ask({ lane: 'none' }), [], 'of another lane')
})
