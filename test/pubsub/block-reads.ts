import t from 'tap'
import { BlockReads } from '../../src/pubsub/block-reads.js'
import type { Entry } from '../../src/pubsub/registry.js'
import type { BlockRead } from '../../src/pubsub/subscription.js'
import { RpcError } from '../../src/shared/errors.js'
import { until } from '../fixtures/until.js'

const createHarness = () => {
  const state = { slot: undefined as number | undefined, atOnce: 0, mostAtOnce: 0 }
  const frames: string[] = []
  const faults: unknown[] = []
  const entries: Entry[] = []
  const waiting: (() => void)[] = []
  const add = (id: number, answer: () => unknown = () => state.slot): Entry => {
    const run = async (): Promise<BlockRead> => {
      state.mostAtOnce = Math.max(state.mostAtOnce, ++state.atOnce)
      await new Promise<void>(resolve => waiting.push(resolve))
      state.atOnce -= 1
      return { slot: state.slot ?? 0, result: Buffer.from(JSON.stringify(answer())) }
    }
    const subscription = { key: `${id}`, add: () => {}, read: { kind: 'tip', run } }
    const entry = { id, groups: [], subscription, onFrame: undefined, refCount: 1, isStarted: true }
    entries.push(entry)
    return entry
  }
  const reads = new BlockReads({
    readers: () => entries,
    slot: () => state.slot,
    send: function* (id, frame) {
      frames.push(`${id} ${JSON.parse(Buffer.from(frame).toString()).params.result}`)
      yield 1
    },
    onFault: fault => faults.push(fault),
  })
  /** Lets the running read end, and waits for the next one or the end of all. */
  const settle = async (): Promise<void> => {
    await until('a read runs', () => waiting.length > 0)
    waiting.shift()?.()
  }
  return { state, frames, faults, entries, reads, add, settle, waiting }
}

/** As long as anything could go on. */
const rest = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await new Promise(resolve => setImmediate(resolve))
}

t.test('each id is read once for a block, one at a time, and then for the newest', async t => {
  const { state, frames, reads, add, settle, waiting } = createHarness()
  add(1)
  add(2)
  reads.advance()
  await rest()
  t.equal(waiting.length, 0, 'there is no block')
  state.slot = 7
  reads.advance()
  reads.advance()
  await settle()
  await until('the first is sent', () => frames.length === 1)
  // Blocks 8 and 9 come while the second is read.
  await until('the second is read', () => waiting.length === 1)
  state.slot = 9
  reads.advance()
  await settle()
  await settle()
  await until('three are sent', () => frames.length === 3)
  // The answer of the second had block 9 already.
  t.strictSame(frames, ['1 7', '2 9', '1 9'])
  await rest()
  t.equal(waiting.length, 0)
  t.equal(state.mostAtOnce, 1)
})

t.test('an id that fails or has ended does not stop the others', async t => {
  const { state, frames, faults, reads, add, settle } = createHarness()
  add(1, () => {
    throw new RpcError('overloaded')
  })
  add(2, () => {
    throw new Error('broken')
  })
  const ended = add(3)
  add(4)
  state.slot = 1
  reads.advance()
  await settle()
  await settle()
  await until('the fault is reported', () => faults.length === 1)
  ended.refCount = 0
  await settle()
  await settle()
  await until('the last is sent', () => frames.length === 1)
  t.strictSame(frames, ['4 1'])
  t.match(faults, [{ message: 'broken' }])
  reads.close()
  state.slot = 2
  reads.advance()
  await rest()
  t.equal(frames.length, 1, 'nothing is read after the close')
})
