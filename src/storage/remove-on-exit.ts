import { rmSync } from 'node:fs'

/**
 * Removes an unfinished folder when this process exits, also by a signal, unless `keep` was called
 * before.
 */
export const removeOnExit = (dir: string): { readonly keep: () => void } => {
  let isFinished = false
  const exit = (): void => process.exit(1)
  process.once('SIGTERM', exit).once('SIGINT', exit).once('SIGHUP', exit)
  process.once('exit', () => {
    if (!isFinished) rmSync(dir, { recursive: true, force: true })
  })
  return { keep: () => (isFinished = true) }
}
