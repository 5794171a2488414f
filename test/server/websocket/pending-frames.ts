import fc from 'fast-check'
import t from 'tap'
import { PendingFrames, type PendingFrame } from '../../../src/server/websocket/pending-frames.js'

t.test('queues share frames', t => {
  const action = fc.oneof(
    fc.record({ kind: fc.constant('push' as const), queues: fc.subarray([0, 1, 2]) }),
    fc.record({ kind: fc.constant('shift' as const), queues: fc.nat({ max: 2 }).map(at => [at]) }),
  )
  const check = () =>
    fc.assert(
      fc.property(fc.array(action, { maxLength: 2_000 }), actions => {
        const queues = [0, 1, 2].map(() => new PendingFrames([]))
        const model: string[][] = [[], [], []]
        let bytes = 0
        for (const [index, { kind, queues: chosen }] of actions.entries()) {
          const frame: PendingFrame = { bytes: `${index}`, isBinary: false, refCount: 0 }
          for (const at of chosen) {
            const [queue, wanted] = [queues[at], model[at]]
            if (queue === undefined || wanted === undefined) throw new Error('no queue')
            if (kind === 'push') {
              bytes += queue.push(frame)
              wanted.push(`${index}`)
            } else {
              if (queue.first?.bytes !== wanted[0]) return false
              bytes -= queue.shift()
              wanted.shift()
            }
            if (queue.bytes !== wanted.join('').length) return false
          }
        }
        return bytes === Array.from(new Set(model.flat())).join('').length
      }),
    )
  t.doesNotThrow(check, 'each frame is in memory once, and frames are sent in order')
  t.end()
})
