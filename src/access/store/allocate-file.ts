import { closeSync, fstatSync, openSync, writeSync } from 'node:fs'

/**
 * Extends a file to at least this length with zeros that are on disk. A hole in a mapped file would
 * end the process (SIGBUS) when it is first written while the disk is full. Throws if the disk is
 * full.
 */
export const allocateFile = (path: string, byteLength: number): void => {
  // Opened to append, so that it never truncates a file that another process has just created.
  const descriptor = openSync(path, 'a', 0o600)
  try {
    let missing = byteLength - fstatSync(descriptor).size
    while (missing > 0) missing -= writeSync(descriptor, Buffer.alloc(missing))
  } finally {
    closeSync(descriptor)
  }
}
