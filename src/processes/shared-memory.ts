import { join } from 'node:path'
import { sharedCells } from '../native/os.js'

/**
 * Cells that all processes of a machine map. Their number never shrinks: a file of an older start
 * is lengthened.
 */
const CELLS = 1024
const ACCESS_VERSION = 0
/** One for each edge: its process id while it may answer, else 0. */
const EDGE_PIDS = 256
/** One for each edge: the last accessVersion after which nothing of an older one can leave it. */
const EDGE_VERSIONS = 512

/** Edges of one machine: as many as there are cells for. */
export const EDGES_MAX = 256

/** What every process sees at once, where a message could come too late. */
export type SharedState = {
  /** Raised after each durable change of the access store. One load. */
  accessVersion(): number
  /** Control alone; answers the new version. */
  raiseAccessVersion(): number
  /** An edge, before its first request: from here on a change waits for it. */
  enterEdge(index: number, pid: number): void
  /** An edge: nothing that was let in before this version can succeed any more. */
  confirmVersion(index: number, version: number): void
  /** The process with this id has ended, or answers no more. */
  leaveEdge(pid: number): void
  /** No edge runs: at the start of a supervisor the ids are those of another life. */
  clearEdges(): void
  /** Process ids of edges that have not confirmed this version. */
  unconfirmedEdges(version: number): number[]
}

/** Maps the shared cells of a data directory. */
export const openSharedState = (dataDir: string): SharedState => {
  const cells = sharedCells(join(dataDir, 'shared'), CELLS)
  const read = (cell: number): number => cells[cell] ?? 0
  const edges = Array.from({ length: EDGES_MAX }, (_, index) => index)
  return {
    accessVersion: () => cells[ACCESS_VERSION] ?? 0,
    raiseAccessVersion: () => {
      const version = read(ACCESS_VERSION) + 1
      cells[ACCESS_VERSION] = version
      return version
    },
    enterEdge: (index, pid) => {
      // The version first: with the id alone, the last owner's would be taken for this one's.
      cells[EDGE_VERSIONS + index] = read(ACCESS_VERSION)
      cells[EDGE_PIDS + index] = pid
    },
    confirmVersion: (index, version) => {
      cells[EDGE_VERSIONS + index] = version
    },
    leaveEdge: pid => {
      for (const index of edges) if (read(EDGE_PIDS + index) === pid) cells[EDGE_PIDS + index] = 0
    },
    clearEdges: () => cells.fill(0, EDGE_PIDS, EDGE_PIDS + EDGES_MAX),
    unconfirmedEdges: version =>
      edges
        .filter(index => read(EDGE_PIDS + index) !== 0 && read(EDGE_VERSIONS + index) < version)
        .map(index => read(EDGE_PIDS + index)),
  }
}
