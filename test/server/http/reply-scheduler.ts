import t, { type Test } from 'tap'
import { ReplyScheduler } from '../../../src/server/http/reply-scheduler.js'
import { defaults } from '../../../src/server/options.js'
import { eventually } from '../../fixtures/server/server.js'

const KIB = 1024
const REPLY_MS = 1_000
const STALL_MS = 100

/** A scheduler whose clock a test sets, and a reply that takes bytes as the test says. */
const open = (t: Test) => {
  const clock = { ms: 0 }
  const options = { ...defaults, replyStallMs: STALL_MS, replyMs: REPLY_MS }
  const scheduler = new ReplyScheduler(options, () => clock.ms)
  t.teardown(() => scheduler.close())
  const add = () => {
    const reply = {
      stalledSinceMs: 0 as number | undefined,
      sentBytes: 0,
      refusedCount: 0,
      isAbandoned: false as boolean,
      writeChunk() {},
      abandon() {
        reply.isAbandoned = true
        scheduler.remove(reply)
      },
    }
    scheduler.add(reply)
    return reply
  }
  /** Lets an interval pass in which the clients took so many bytes, and others found no room. */
  const pass = async (
    replies: readonly ReturnType<typeof add>[],
    [sentBytes, refusals]: readonly [number, number],
  ): Promise<void> => {
    clock.ms += STALL_MS
    for (const reply of replies) {
      reply.sentBytes += sentBytes
      reply.refusedCount += refusals
      reply.stalledSinceMs = clock.ms - 1
    }
    // The scheduler looks ten times in an interval.
    const before = scheduler.abandonedCount
    await new Promise(resolve => setTimeout(resolve, STALL_MS / 2))
    await eventually(() => scheduler.abandonedCount >= before)
  }
  return { clock, scheduler, add, pass }
}

t.test('a slow client is waited for, but not while others find no room', async t => {
  const { add, pass } = open(t)
  const reply = add()
  await pass([reply], [1, 0])
  await pass([reply], [KIB, 0])
  t.notOk(reply.isAbandoned, 'nobody else waits')
  await pass([reply], [64 * KIB, 3])
  t.notOk(reply.isAbandoned, 'fast enough')
  await pass([reply], [KIB, 0])
  t.notOk(reply.isAbandoned, 'nobody waits any more')
  await pass([reply], [63 * KIB, 1])
  t.ok(reply.isAbandoned)
})

t.test('a reply whose source is awaited is not slow', async t => {
  const { clock, add, scheduler } = open(t)
  const reply = add()
  reply.stalledSinceMs = undefined
  clock.ms += STALL_MS * 2
  reply.refusedCount = 9
  await new Promise(resolve => setTimeout(resolve, STALL_MS / 2))
  t.notOk(reply.isAbandoned)
  t.equal(scheduler.replyCount, 1)
})

t.test('a client that takes a byte now and then has its total time', async t => {
  const { add, pass, scheduler } = open(t)
  const reply = add()
  for (let passed = 0; passed < REPLY_MS; passed += STALL_MS) await pass([reply], [1, 0])
  t.notOk(reply.isAbandoned)
  await pass([reply], [1, 0])
  t.ok(reply.isAbandoned)
  t.equal(scheduler.abandonedCount, 1)
})
