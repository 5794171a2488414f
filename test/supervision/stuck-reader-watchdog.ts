import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Child } from '../../src/supervision/child.js'
import { createStuckReaderWatchdog } from '../../src/supervision/stuck-reader-watchdog.js'
import { openLog } from '../../src/shared/log.js'
import { until } from '../fixtures/until.js'

const ANSWER_MS = 20

const setUp = () => {
  const pinged: number[] = []
  const ended: number[] = []
  const toEdge = (pid: number): Child => ({
    role: 'edge',
    name: `edge ${pid}`,
    pid,
    isReady: true,
    send: ({ kind }) => void (kind === 'ping' && pinged.push(pid)),
    restart: () => void ended.push(pid),
    stop: () => Promise.resolve(),
  })
  const edges = [toEdge(7), toEdge(8)]
  const { log } = openLog('supervisor', {
    level: 'silent',
    bufferBytesMax: 1_000,
    lineCharsMax: 1_000,
  })
  const counted: Child[] = []
  const watch = createStuckReaderWatchdog({
    config: {
      store: { readerSecondsMax: 10 },
      rpc: { readTimeoutMs: 30_000 },
      processes: { answerMs: ANSWER_MS },
    } as never,
    log,
    edges: () => edges,
    onEnd: edge => counted.push(edge),
  })
  const reportRead = (pid: number, seconds: number) =>
    watch.onLongRead({ network: 'one', pid, seconds })
  return { pinged, counted, edges, ended, reportRead, watch }
}

t.test('an edge that does not answer is ended, one that does is not', async t => {
  const { pinged, counted, edges, ended, reportRead, watch } = setUp()
  reportRead(7, 11)
  reportRead(8, 11)
  reportRead(8, 12)
  t.strictSame(pinged, [7, 8], 'once each')
  for (const edge of edges) if (edge.pid === 7) watch.onPong(edge)
  await until('the other is ended', () => ended.length > 0)
  await sleep(2 * ANSWER_MS)
  t.strictSame(ended, [8])
  t.strictSame(
    counted.map(({ pid }) => pid),
    [8],
  )
  // It is pinged again while its read stays open, and is ended despite its answers.
  reportRead(7, 20)
  t.strictSame(pinged, [7, 8, 7])
  for (const edge of edges) watch.onPong(edge)
  reportRead(7, 40.5)
  t.strictSame(ended, [8, 7])
})

t.test('other processes and one that has ended are not killed', async t => {
  const { pinged, edges, ended, reportRead } = setUp()
  reportRead(9, 1_000)
  reportRead(7, 11)
  edges.shift()
  await sleep(3 * ANSWER_MS)
  t.strictSame([pinged, ended], [[7], []])
})
