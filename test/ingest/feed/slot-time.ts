import { join } from 'node:path'
import t from 'tap'
import { injectFeedFault, startFeedHarness } from '../../fixtures/ingest/feed-harness.js'
import { POOLS } from '../../fixtures/rpc/store.js'

for (const slotMs of [150, 400])
  t.test(`a chain of ${slotMs} ms is known by its blocks, however they arrive`, async t => {
    const clock = { ms: 1_900_000_000_000 }
    const { feeds, slots, follow } = await startFeedHarness(t, [{}], { now: () => clock.ms })
    const advance = (count: number): void => {
      for (let done = 0; done < count; done++) {
        clock.ms += slotMs
        slots(1, 0)
      }
    }
    const { store, untilStored } = follow(join(t.testdir(), 'store'))
    const reader = store.openReader(POOLS)
    t.teardown(() => reader.close())
    const isNear = (name: string): void => {
      const found = reader.slotMs()
      t.ok(Math.abs(found - slotMs) <= slotMs / 20, `${name}: ${found} ms`)
    }
    await untilStored()
    t.equal(reader.slotMs(), 200, 'the first blocks show nothing')
    advance(200)
    await untilStored()
    isNear('all at once')
    t.equal(await injectFeedFault(feeds[0]?.url ?? '', { fault: 'drop' }), 200)
    advance(30)
    await untilStored()
    isNear('after a replay')
    clock.ms += 3_600_000
    advance(30)
    await untilStored()
    isNear('after a pause of an hour')
    clock.ms -= 3_600_000
    advance(20)
    await untilStored()
    isNear('while its clock stands still')
  })
