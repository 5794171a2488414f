import { readdirSync } from 'node:fs'
import { setPriority } from 'node:os'

const NICENESS = 10

/**
 * Lowers the priority of this process: the client represents another machine. Linux
 * keeps a niceness per thread, and V8's own threads are older than this call.
 */
export const toBackground = (): void => {
  for (const thread of readdirSync('/proc/self/task')) setPriority(Number(thread), NICENESS)
}
