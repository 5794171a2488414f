import t from 'tap'
import type { LivenessProbe } from '../../../src/supervision/watchdogs/liveness-probe.js'
import { StuckReaderWatchdog } from '../../../src/supervision/watchdogs/stuck-reader-watchdog.js'

t.test('an edge is asked while a client may read its reply, then restarted', async t => {
  const asked: number[] = []
  const restarted: number[] = []
  const pending = new Set<number>()
  const probe: Pick<LivenessProbe, 'probe' | 'restart' | 'isPending'> = {
    probe: pid => void asked.push(pid),
    restart: (pid, { fields }) => void restarted.push(pid, Number(fields?.['seconds'])),
    isPending: pid => pending.has(pid),
  }
  const watchdog = new StuckReaderWatchdog(
    { store: { readerSecondsMax: 10 }, rpc: { readTimeoutMs: 30_000 } } as never,
    probe,
  )
  const report = (pid: number, seconds: number): void =>
    watchdog.onLongRead({ network: 'one', pid, seconds })
  report(7, 11)
  report(7, 40)
  t.strictSame([asked, restarted], [[7, 7], []])
  pending.add(7)
  report(7, 40.5)
  t.strictSame(restarted, [], 'its answer is awaited')
  pending.delete(7)
  report(7, 41.2)
  t.strictSame(restarted, [7, 41])
})
