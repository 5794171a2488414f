import { readFileSync, statSync } from 'node:fs'

/** The trimmed text of a file; undefined if other users may read it. Throws if there is none. */
export const readPrivateFile = (path: string): string | undefined =>
  (statSync(path).mode & 0o077) === 0 ? readFileSync(path, 'utf8').trim() : undefined
