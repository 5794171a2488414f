import { readFileSync, statSync } from 'node:fs'

/** The trimmed text of a file; undefined where other users can read it. Throws if it is missing. */
export const readPrivateFile = (path: string): string | undefined =>
  (statSync(path).mode & 0o077) === 0 ? readFileSync(path, 'utf8').trim() : undefined
