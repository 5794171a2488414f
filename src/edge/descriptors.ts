import { readFileSync } from 'node:fs'

const OPEN_FILES = /Max open files +(\d+)/

/**
 * Descriptors that this process may have; Infinity where the system does not say. Node.js raises
 * the limit to the highest that is allowed when it starts.
 */
export const readDescriptorsMax = (): number => {
  try {
    const limit = OPEN_FILES.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return limit === undefined ? Infinity : Number(limit)
  } catch {
    return Infinity
  }
}

/** Connections that each of some servers of a process may have, so that descriptors are left. */
export const shareOfDescriptors = (
  descriptorsMax: number,
  reserved: number,
  serverCount: number,
): number => {
  const free = descriptorsMax - Math.min(reserved, descriptorsMax / 2)
  return Math.max(1, Math.floor(free / serverCount))
}
