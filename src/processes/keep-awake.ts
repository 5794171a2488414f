import { openSync, writeSync } from 'node:fs'

/** Linux keeps what is written here for as long as the file is open. */
const LATENCY_FILE = '/dev/cpu_dma_latency'
/** Microseconds, as 32 bits: a processor that has nothing to do may not fall asleep at all. */
const AT_ONCE = Buffer.alloc(4)

/**
 * Keeps the processors of the machine awake until this process ends: one that sleeps takes tens of microseconds to
 * come back, at each step of a request from thread to thread. It costs power, all the time. Throws where the system
 * does not allow it (root; not in every container).
 */
export const keepAwake = (path = LATENCY_FILE): void => {
  // Left open for ever: closing it takes the wish back.
  writeSync(openSync(path, 'r+'), AT_ONCE)
}
