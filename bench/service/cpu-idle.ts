import { disableCpuIdle } from '../../src/processes/cpu-idle.js'

/**
 * Keeps processors awake where the system allows it, and says which it is. Returns what ends it.
 */
export const tryToDisableCpuIdle = (note: (text: string) => void): (() => void) | undefined => {
  try {
    const rest = disableCpuIdle()
    note('processors are kept awake (processes.disableCpuIdle)')
    return rest
  } catch {
    note('processors fall asleep when they are idle, which all figures in ms contain')
    return undefined
  }
}
