import { randomBytes } from 'node:crypto'
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const KEY_BYTES = 32

const read = (path: string): Buffer | undefined => {
  try {
    return readFileSync(path)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

/**
 * The key by which any edge of this machine, also after a restart, can tell a client of QUIC that
 * its connection is gone. Made by whichever edge is the first.
 */
export const openResetKey = (dataDir: string): Uint8Array => {
  const path = join(dataDir, 'quic.key')
  const known = read(path)
  if (known !== undefined) return known
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, randomBytes(KEY_BYTES), { mode: 0o600 })
  try {
    // Unlike a rename, it does not replace the key of another edge.
    linkSync(draft, path)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  } finally {
    rmSync(draft, { force: true })
  }
  return readFileSync(path)
}
