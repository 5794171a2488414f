import fc from 'fast-check'
import t from 'tap'
import { HeldQueue, type HeldFrame } from '../../../src/server/websocket/pending-frames.js'

t.test('queues that share frames', t => {
  const act = fc.oneof(
    fc.record({ kind: fc.constant('push' as const), queues: fc.subarray([0, 1, 2]) }),
    fc.record({ kind: fc.constant('drop' as const), queues: fc.nat({ max: 2 }).map(at => [at]) }),
  )
  const check = () =>
    fc.assert(
      fc.property(fc.array(act, { maxLength: 2_000 }), acts => {
        const queues = [0, 1, 2].map(() => new HeldQueue([]))
        const model: string[][] = [[], [], []]
        let bytes = 0
        for (const [index, { kind, queues: chosen }] of acts.entries()) {
          const frame: HeldFrame = { bytes: `${index}`, isBinary: false, holdersCount: 0 }
          for (const at of chosen) {
            const [queue, wanted] = [queues[at], model[at]]
            if (queue === undefined || wanted === undefined) throw new Error('no queue')
            if (kind === 'push') {
              bytes += queue.push(frame)
              wanted.push(`${index}`)
            } else {
              if (queue.first?.bytes !== wanted[0]) return false
              bytes -= queue.drop()
              wanted.shift()
            }
            if (queue.bytes !== wanted.join('').length) return false
          }
        }
        return bytes === Array.from(new Set(model.flat())).join('').length
      }),
    )
  t.doesNotThrow(check, 'hold each frame once, in order')
  t.end()
})
