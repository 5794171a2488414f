import { closeSync, fstatSync, openSync, writeSync } from 'node:fs'

/**
 * Makes a file at least so long, with zeros that are on the disk: a mapped hole would end the
 * process (SIGBUS) where the disk is full when it is first written. Throws where there is no room.
 */
export const allocateFile = (path: string, byteLength: number): void => {
  // To append never cuts what another process has just made.
  const descriptor = openSync(path, 'a', 0o600)
  try {
    let missing = byteLength - fstatSync(descriptor).size
    while (missing > 0) missing -= writeSync(descriptor, Buffer.alloc(missing))
  } finally {
    closeSync(descriptor)
  }
}
