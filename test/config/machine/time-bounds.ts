import t from 'tap'
import { EXAMPLE } from '../../../src/config/config.js'
import { MAINNET_BYTES_PER_SECOND, bufferBytesOf } from '../../../src/ingest/feed/geyser.js'
import { timeBoundsOf } from '../../../src/config/machine/time-bounds.js'

const GB = 1e9
const [network] = EXAMPLE.networks
const boundsAt = (rate: number, memoryGb: number, freeGb: number, config = EXAMPLE) =>
  timeBoundsOf(config, network?.feed ?? { bufferBytesMax: 0 }, rate, {
    memoryBytes: memoryGb * GB,
    freeBytes: freeGb * GB,
  }).map(({ seconds, boundBy }) => [Math.floor(seconds), boundBy])

t.test('the defaults hold at the rate of all of mainnet on a machine for it', async t => {
  t.strictSame(boundsAt(MAINNET_BYTES_PER_SECOND, 64, 2_000), [
    [10, 'feed.bufferBytesMax'],
    [600, 'store.feedMs'],
    [19_546, 'bootstrap.spoolBytesMax'],
  ])
})

t.test('a machine with less, and options in bytes or in time', async t => {
  t.strictSame(boundsAt(MAINNET_BYTES_PER_SECOND, 8, 10), [
    [4, 'feed.bufferBytesMax'],
    [139, 'free disk space'],
    [19, 'free disk space'],
  ])
  t.strictSame(
    boundsAt(MAINNET_BYTES_PER_SECOND, 8, 0).slice(1),
    [
      [0, 'free disk space'],
      [0, 'free disk space'],
    ],
    'no time is below 0',
  )
  const { bootstrap, store } = EXAMPLE
  const inBytes = {
    ...EXAMPLE,
    store: { ...store, feedBytesMax: GB },
    bootstrap: { ...bootstrap, spoolBytesMax: 3 * GB },
  }
  t.strictSame(boundsAt(100e6, 64, 2_000, inBytes).slice(1), [
    [40, 'store.feedBytesMax'],
    [120, 'bootstrap.spoolBytesMax'],
  ])
  const none = { ...EXAMPLE, store: { ...store, feedBytesMax: 0 } }
  t.strictSame(boundsAt(100e6, 64, 2_000, none)[1], [0, 'store.feedBytesMax'])
})

t.test('a feed may hold 10 s of mainnet, an eighth of the memory, or what is given', async t => {
  const cases: [given: number, memory: number, bytes: number][] = [
    [0, 64 * GB, 2.25 * GB],
    [0, 8 * GB, GB],
    [0, 1, 11 * 1024 ** 2],
    [1, 64 * GB, 11 * 1024 ** 2],
    [5 * GB, GB, 5 * GB],
  ]
  for (const [bufferBytesMax, memory, bytes] of cases)
    t.equal(bufferBytesOf({ bufferBytesMax }, memory), bytes, `${bufferBytesMax} of ${memory}`)
})
