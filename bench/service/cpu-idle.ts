import { disableCpuIdle } from '../../src/supervision/cpu-idle.js'

/** Disables idle states of the processors where the system allows it. Returns how to undo it. */
export const tryToDisableCpuIdle = (note: (text: string) => void): (() => void) | undefined => {
  try {
    const enable = disableCpuIdle()
    note('idle states of the processors are disabled (processes.disableCpuIdle)')
    return enable
  } catch {
    note('idle states of the processors are enabled: every figure in ms includes waking up')
    return undefined
  }
}
