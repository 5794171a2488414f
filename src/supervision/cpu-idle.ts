import { closeSync, openSync, writeSync } from 'node:fs'

/** Linux honours the latency written here for as long as the file is open. */
const LATENCY_FILE = '/dev/cpu_dma_latency'
/** Zero microseconds as 32 bits: an idle processor may not enter any sleep state. */
const NO_LATENCY = Buffer.alloc(4)

/**
 * Keeps the idle processors of the machine out of sleep states until the returned function is
 * called or this process ends. Throws if the system does not allow it (it needs root, and some
 * containers lack the file).
 */
export const disableCpuIdle = (path = LATENCY_FILE): (() => void) => {
  const file = openSync(path, 'r+')
  writeSync(file, NO_LATENCY)
  return () => closeSync(file)
}
