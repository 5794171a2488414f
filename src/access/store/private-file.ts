import {
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'

const syncPath = (path: string): void => {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Creates a file that only its owner can read. A crash leaves the complete file or none. */
export const createPrivateFile = (path: string, text: string): void => {
  const draft = `${path}.new`
  const descriptor = openSync(draft, 'w', 0o600)
  try {
    writeSync(descriptor, text)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
  renameSync(draft, path)
  syncPath(dirname(path))
}

/** The trimmed text of a file; undefined if other users may read it. Throws if there is none. */
export const readPrivateFile = (path: string): string | undefined =>
  (statSync(path).mode & 0o077) === 0 ? readFileSync(path, 'utf8').trim() : undefined
