import { join } from 'node:path'
import { sharedCells } from '../shared/native.js'

/** Cells that all processes of a machine map. Their number never shrinks: a file of an older start is lengthened. */
const CELLS = 512
const ACCESS_VERSION = 0

/** What every process sees at once, where a message could come too late (design §6 "How"). */
export type SharedState = {
  /** Raised after each durable change of the access store. One load. */
  accessVersion(): number
  raiseAccessVersion(): void
}

/** Maps the shared cells of a data directory. Control alone raises versions. */
export const openSharedState = (dataDir: string): SharedState => {
  const cells = sharedCells(join(dataDir, 'shared'), CELLS)
  return {
    accessVersion: () => cells[ACCESS_VERSION] ?? 0,
    raiseAccessVersion: () => {
      cells[ACCESS_VERSION] = (cells[ACCESS_VERSION] ?? 0) + 1
    },
  }
}
