import { stat } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Child } from '../../../src/supervision/child.js'
import { LivenessProbe } from '../../../src/supervision/watchdogs/liveness-probe.js'
import { createLog } from '../../../src/shared/log.js'
import { until } from '../../fixtures/until.js'

const ANSWER_MS = 20
const REASON = { message: 'it is stuck: restarting it', fields: { network: 'one' } }

const setUp = () => {
  const pinged: number[] = []
  const ended: number[] = []
  const toEdge = (pid: number): Child => ({
    role: 'edge',
    name: `edge ${pid}`,
    pid,
    isReady: true,
    send: ({ kind }) => void (kind === 'ping' && pinged.push(pid)),
    restart: () => {
      const isFirst = !ended.includes(pid)
      if (isFirst) ended.push(pid)
      return isFirst
    },
    untilReady: () => Promise.resolve(),
    stop: () => Promise.resolve(true),
  })
  const edges = [toEdge(7), toEdge(8)]
  const lines: string[] = []
  const counted: string[] = []
  const probe = new LivenessProbe({
    answerMs: ANSWER_MS,
    children: () => edges,
    log: createLog('supervisor', line => lines.push(line)),
    onEnd: ({ name }) => void counted.push(name),
  })
  return { pinged, ended, edges, lines, counted, probe }
}

t.test('a process that answers is not restarted, one that does not is', async t => {
  const { pinged, ended, edges, lines, counted, probe } = setUp()
  probe.probe(7, REASON)
  probe.probe(8, REASON)
  probe.probe(8, REASON)
  t.strictSame(pinged, [7, 8], 'once each')
  for (const edge of edges) if (edge.pid === 7) probe.onPong(edge)
  t.strictSame([probe.isPending(7), probe.isPending(8)], [false, true])
  await until('the other is restarted', () => ended.length > 0)
  await sleep(2 * ANSWER_MS)
  t.strictSame(ended, [8])
  t.strictSame(counted, ['edge 8'])
  t.match(lines.join(''), /"process":"edge 8".*"network":"one".*"msg":"it is stuck: restarting it"/)
})

t.test('a process that was killed and has not ended yet is counted once', async t => {
  const { ended, counted, lines, probe } = setUp()
  probe.restart(8, REASON)
  probe.restart(8, REASON)
  probe.probe(8, REASON)
  await until('it is not answered', () => !probe.isPending(8))
  t.strictSame([ended, counted, lines.length], [[8], ['edge 8'], 1])
})

t.test('a pause of the supervisor ends no process whose answer has arrived', async t => {
  const { ended, edges, probe } = setUp()
  const [edge] = edges
  if (edge === undefined) return
  Object.assign(edge, { send: () => stat('.', () => probe.onPong(edge)) })
  probe.probe(7, REASON)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3 * ANSWER_MS)
  await until('the answer is read', () => !probe.isPending(7))
  t.strictSame(ended, [])
})

t.test('another process is neither pinged nor restarted', async t => {
  const { pinged, ended, edges, probe } = setUp()
  probe.probe(9, REASON)
  probe.restart(9, REASON)
  t.strictSame(pinged, [])
  probe.probe(7, REASON)
  // It ended by itself, and another process has taken its place.
  for (const edge of edges) if (edge.pid === 7) Object.assign(edge, { pid: 10 })
  await sleep(2 * ANSWER_MS)
  t.strictSame(ended, [])
})
