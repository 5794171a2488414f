import { closeSync, openSync, writeSync } from 'node:fs'

/** Linux keeps what is written here for as long as the file is open. */
const LATENCY_FILE = '/dev/cpu_dma_latency'
/** Microseconds, as 32 bits: a processor that has nothing to do may not fall asleep at all. */
const AT_ONCE = Buffer.alloc(4)

/**
 * Keeps the processors of the machine awake until what it returns is called, or this process ends:
 * one that sleeps takes tens of microseconds to come back, at each step of a request from thread to
 * thread. It costs power, all the time. Throws where the system does not allow it (root; not in
 * every container).
 */
export const keepAwake = (path = LATENCY_FILE): (() => void) => {
  const file = openSync(path, 'r+')
  writeSync(file, AT_ONCE)
  return () => closeSync(file)
}
