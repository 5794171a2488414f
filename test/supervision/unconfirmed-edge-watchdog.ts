import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Child } from '../../src/supervision/child.js'
import { UnconfirmedEdgeWatchdog } from '../../src/supervision/unconfirmed-edge-watchdog.js'
import { createLog } from '../../src/shared/log.js'
import { until } from '../fixtures/until.js'

const ANSWER_MS = 20

const setUp = () => {
  const asked: number[] = []
  const ended: number[] = []
  const toEdge = (pid: number): Child => ({
    role: 'edge',
    name: `edge ${pid}`,
    pid,
    isReady: true,
    send: ({ kind }) => void (kind === 'ping' && asked.push(pid)),
    restart: () => void ended.push(pid),
    stop: () => Promise.resolve(),
  })
  const edges = [toEdge(7), toEdge(8)]
  const lines: string[] = []
  const counted: string[] = []
  const watchdog = new UnconfirmedEdgeWatchdog({
    answerMs: ANSWER_MS,
    edges: () => edges,
    log: createLog('supervisor', line => lines.push(line)),
    onEnd: ({ name }) => void counted.push(name),
  })
  return { asked, ended, edges, lines, counted, watchdog }
}

t.test('an edge that is only busy is not ended, one that answers nothing is', async t => {
  const { asked, ended, edges, lines, counted, watchdog } = setUp()
  watchdog.onUnconfirmed(7)
  watchdog.onUnconfirmed(8)
  watchdog.onUnconfirmed(8)
  t.strictSame(asked, [7, 8], 'once each')
  for (const edge of edges) if (edge.pid === 7) watchdog.onPong(edge)
  await until('the other is ended', () => ended.length > 0)
  await sleep(2 * ANSWER_MS)
  t.strictSame(ended, [8])
  t.strictSame(counted, ['edge 8'])
  t.match(lines.join(''), /"process":"edge 8".*neither confirms a change of accesses nor answers/)
})

t.test('a process that is not an edge any more is left alone', async t => {
  const { asked, ended, edges, watchdog } = setUp()
  watchdog.onUnconfirmed(9)
  t.strictSame(asked, [])
  watchdog.onUnconfirmed(7)
  const [first] = edges
  // It ended by itself, and another process has taken its place.
  edges[0] = { ...first, pid: 10 } as Child
  if (first !== undefined) Object.assign(first, { pid: 10 })
  await sleep(2 * ANSWER_MS)
  t.strictSame(ended, [])
})
