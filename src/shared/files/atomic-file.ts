import { closeSync, fsyncSync, openSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** Waits until the content of a file, or the names in a folder, are on disk. */
export const syncPath = (path: string): void => {
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** Replaces a file with one rename: readers see the old content or the new one, never a part. */
export const replaceFile = (path: string, content: string | Uint8Array, mode = 0o600): void => {
  const draft = `${path}.new`
  writeFileSync(draft, content, { mode })
  renameSync(draft, path)
}

/** The same, on disk when it returns: after a power cut the file is whole, old or new. */
export const replaceFileDurably = (path: string, text: string, mode = 0o600): void => {
  const draft = `${path}.new`
  writeFileSync(draft, text, { mode })
  syncPath(draft)
  renameSync(draft, path)
  syncPath(dirname(path))
}
