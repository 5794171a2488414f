import { readFileSync, statSync } from 'node:fs'
import { randomUUID } from 'node:crypto'

/** Changes with each boot of the computer. */
const BOOT_ID = '/proc/sys/kernel/random/boot_id'

const readBootId = (): string => {
  try {
    return readFileSync(BOOT_ID, 'latin1').trim()
  } catch {
    // Another place at each start, which only costs a wait.
    return randomUUID()
  }
}

/**
 * Names this computer, since its boot, and the folder on it. Two processes that see the same place
 * cannot run at the same time, because the first one has locked the folder; a copy of the folder is
 * at another place.
 */
export const placeOf = (dataDir: string): string => {
  const { dev, ino } = statSync(dataDir, { bigint: true })
  return `${readBootId()} ${dev}:${ino}`
}
