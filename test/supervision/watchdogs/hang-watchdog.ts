import t from 'tap'
import type { Child } from '../../../src/supervision/child.js'
import { HangWatchdog } from '../../../src/supervision/watchdogs/hang-watchdog.js'
import { createLog } from '../../../src/shared/log.js'
import { until } from '../../fixtures/until.js'

const PING_MS = 10

const setUp = () => {
  const restarted: string[] = []
  const pinged: string[] = []
  const toChild = (name: string, pid: number | undefined, isReady = true): Child => ({
    role: 'edge',
    name,
    pid,
    isReady,
    send: ({ kind }) => {
      if (kind !== 'ping') return
      pinged.push(name)
      if (name === 'live') watchdog.onPong(live)
    },
    restart: () => {
      restarted.push(name)
      watchdog.stop()
      return true
    },
    untilReady: () => Promise.resolve(),
    stop: () => Promise.resolve(true),
  })
  const live = toChild('live', 1)
  const children = [
    live,
    toChild('hung', 2),
    toChild('starting', 3, false),
    toChild('ended', undefined),
  ]
  const lines: string[] = []
  const hung: string[] = []
  const watchdog = new HangWatchdog({
    pingMs: PING_MS,
    hungMs: 5 * PING_MS,
    children: () => children,
    log: createLog('supervisor', line => lines.push(line)),
    onHung: ({ name }) => void hung.push(name),
  })
  t.teardown(() => watchdog.stop())
  return { watchdog, restarted, pinged, lines, hung }
}

t.test('a child that answers nothing is restarted, others are not', async t => {
  const { restarted, pinged, lines, hung } = setUp()
  await until('one is restarted', () => restarted.length > 0)
  t.equal(pinged.filter(name => name === 'hung').length, 5)
  t.notOk(pinged.some(name => name === 'starting' || name === 'ended'))
  t.strictSame(restarted, ['hung'])
  t.strictSame(hung, ['hung'])
  t.match(
    lines.join(''),
    /"process":"hung".*"msg":"a child does not answer: restarting its process"/,
  )
})

t.test('a stopped watchdog asks nothing', async t => {
  const { watchdog, pinged } = setUp()
  watchdog.stop()
  await new Promise(done => setTimeout(done, 3 * PING_MS))
  t.strictSame(pinged, [])
})
