// Stalls of the machine itself: a thread with a higher priority than all others on one processor
// sleeps, and wakes late where the hypervisor did not run that processor.
import { execFileSync } from 'node:child_process'
import { onStart } from '../child.js'

export type MachineStalls = { readonly processor: number; readonly durationMs: number }

/** Times beyond a sleep, in ms; undefined where the system refuses the priority. */
export type MachineStallsResult =
  | {
      readonly longestMs: number
      readonly longCount: number
      /** Sum of the stalls over 5 ms in the worst second. */
      readonly worstSecondMs: number
    }
  | undefined

const SLEEP_MS = 2
/** A longer one is counted: the bound of a turn of the event loop. */
const LONG_MS = 5
const SECOND_MS = 1_000
/** Sleeps without a look at the messages of the parent. */
const SLEEPS_AT_ONCE = 50
/** Above that of edges and clients, which is 1. */
const PRIORITY = 50

const raisePriority = (processor: number): boolean => {
  const pid = String(process.pid)
  try {
    execFileSync('taskset', ['-cp', String(processor), pid], { stdio: 'ignore' })
    execFileSync('chrt', ['-f', '-p', String(PRIORITY), pid], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

onStart<MachineStalls, MachineStallsResult>(async ({ processor, durationMs }) => {
  if (!raisePriority(processor)) return undefined
  const cell = new Int32Array(new SharedArrayBuffer(4))
  const endMs = performance.now() + durationMs
  let longestMs = 0
  let longCount = 0
  let worstSecondMs = 0
  let second = { endMs: 0, stalledMs: 0 }
  while (performance.now() < endMs) {
    for (let nth = 0; nth < SLEEPS_AT_ONCE; nth++) {
      const fromMs = performance.now()
      Atomics.wait(cell, 0, 0, SLEEP_MS)
      const lateMs = performance.now() - fromMs - SLEEP_MS
      longestMs = Math.max(longestMs, lateMs)
      if (lateMs <= LONG_MS) continue
      longCount += 1
      if (fromMs > second.endMs) second = { endMs: fromMs + SECOND_MS, stalledMs: 0 }
      second.stalledMs += lateMs
      worstSecondMs = Math.max(worstSecondMs, second.stalledMs)
    }
    await new Promise(resolve => setImmediate(resolve))
  }
  return { longestMs, longCount, worstSecondMs }
})
