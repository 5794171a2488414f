import { join } from 'node:path'
import { EDGE_SLOTS_MAX } from '../config/edge-count.js'
import { HEALTHS, type Health } from '../edge/health.js'
import {
  ACCESS_VERSION_CELL as ACCESS_VERSION,
  bootMs,
  LEASE_END_CELL as LEASE_END,
  sharedCells,
} from '../native/os.js'
import { LANE_STATES, type LaneCounts } from '../storage/sender-status.js'

/** Cells that every process of a machine maps. Never fewer: an older file is lengthened. */
const CELLS = 1283
/** One per network: the tip that the edges serve, or 0. */
const TIPS = 128
/** Networks that have a cell. */
const NETWORKS_MAX = 128
/**
 * One per slot: the process id of its edge while it may answer requests, else 0. The last two are
 * of the sender and of its successor.
 */
const EDGE_PIDS = 256
const SENDERS = [EDGE_SLOTS_MAX, EDGE_SLOTS_MAX + 1] as const
const SLOTS = EDGE_SLOTS_MAX + SENDERS.length
/** One per slot: the last accessVersion after which nothing of an older one can leave it. */
const EDGE_VERSIONS = 512
/** One per edge: the state that its `/health` reports, as an index into HEALTHS. */
const EDGE_HEALTHS = 768
/** One per network: 1 where its tip is too far behind the other machines of the location. */
const LAGGING = 1024
/** One per network: the milliseconds of a slot of its chain, or 0. */
const SLOT_TIMES = 1152

/** One per state of LANE_STATES: how many lanes of the machine are in it. */
const LANES = 1280

/** State that every process sees at once, where a message could arrive too late. */
export type SharedMemory = {
  /** Of these cells the first is the accessVersion, the second the end of the lease. */
  readonly cells: Float64Array
  /** Raised after each durable change of the access store. One load. */
  accessVersion(): number
  /**
   * The accessVersion as long as the lease lasts, then NaN. It equals nothing, so everything that
   * was decided by an earlier version is decided again.
   */
  leasedVersion(): number
  /**
   * Until when the access store is known to be current, in milliseconds of the boot clock; after
   * it edges let nothing succeed.
   */
  setLeaseEnd(bootMs: number): void
  leaseEnd(): number
  /** For control only; answers the new version. */
  raiseAccessVersion(): number
  /** An edge, before its first request: from here on a change waits for its confirmation. */
  enterEdge(index: number, pid: number): void
  /** The sender, before its first call; answers its index. */
  enterSender(pid: number): number
  /** An edge or sender: nothing that it accepted before this version can succeed any more. */
  confirmVersion(index: number, version: number): void
  /**
   * An edge: the state that its `/health` reports, and the tips and slot times of the networks in
   * their order.
   */
  report(
    index: number,
    health: Health,
    tips: readonly (number | undefined)[],
    slotTimes: readonly (number | undefined)[],
  ): void
  /** The sender: how many lanes are in each state. */
  reportLanes(counts: LaneCounts): void
  /** Undefined while no sender runs, and without lanes. */
  lanes(): LaneCounts | undefined
  /** The worst state of the edges of the machine; `unknown` where none runs. */
  health(): Health
  /** Of the network with this index, as its edges serve it; undefined if they have none. */
  tip(network: number): number | undefined
  /** Milliseconds of a slot of its chain, as its blocks show it to the edges. */
  slotMs(network: number): number | undefined
  /** For the follower: whether the tip of this network is too far behind its location. */
  setLagging(network: number, isLagging: boolean): void
  isLagging(network: number): boolean
  /** The process with this id has ended, or answers no more requests. */
  leaveEdge(pid: number): void
  /** The edge of this slot has ended. */
  clearEdge(index: number): void
  /**
   * For the start of a supervisor: no edge runs, and what is stored of edges and their networks is
   * of an earlier service.
   */
  clearEdges(): void
  /** Process ids of edges and senders that have not confirmed this version. */
  unconfirmedEdges(version: number): number[]
}

/** Doubles, of which other processes see the stores in their order: Atomics has no doubles. */
const openDoubles = (cells: Float64Array) => {
  const words = new BigInt64Array(cells.buffer, cells.byteOffset, cells.length)
  const double = new Float64Array(1)
  const bits = new BigInt64Array(double.buffer)
  return {
    read: (cell: number): number => {
      bits[0] = Atomics.load(words, cell)
      return double[0] ?? 0
    },
    write: (cell: number, value: number): void => {
      double[0] = value
      Atomics.store(words, cell, bits[0] ?? 0n)
    },
  }
}

const openLaneCounts = ({
  read,
  write,
}: ReturnType<typeof openDoubles>): Pick<SharedMemory, 'lanes' | 'reportLanes'> => ({
  reportLanes: counts => {
    for (const [at, state] of LANE_STATES.entries()) write(LANES + at, counts[state])
  },
  lanes: () => {
    if (SENDERS.every(index => read(EDGE_PIDS + index) === 0)) return undefined
    const [up = 0, down = 0, throttled = 0] = LANE_STATES.map((_, at) => read(LANES + at))
    return up + down + throttled === 0 ? undefined : { up, down, throttled }
  },
})

/** Maps the shared cells of a data directory. */
export const openSharedMemory = (dataDir: string): SharedMemory => {
  const cells = sharedCells(join(dataDir, 'shared'), CELLS)
  const { read, write } = openDoubles(cells)
  const readOf = (first: number, network: number): number | undefined =>
    network < NETWORKS_MAX ? read(first + network) || undefined : undefined
  const writeEach = (first: number, values: readonly (number | undefined)[]): void => {
    for (const [network, value] of values.slice(0, NETWORKS_MAX).entries())
      write(first + network, value ?? 0)
  }
  const slots = Array.from({ length: SLOTS }, (_, index) => index)
  const edges = slots.slice(0, EDGE_SLOTS_MAX)
  const enter = (index: number, pid: number): void => {
    // The version first: otherwise the former process' version would count for this process id.
    write(EDGE_VERSIONS + index, read(ACCESS_VERSION))
    write(EDGE_PIDS + index, pid)
  }
  return {
    cells,
    accessVersion: () => read(ACCESS_VERSION),
    leasedVersion: () => {
      const endMs = read(LEASE_END)
      // A lease without an end needs no clock.
      const isLeased = endMs === Infinity || bootMs() < endMs
      return isLeased ? read(ACCESS_VERSION) : Number.NaN
    },
    setLeaseEnd: endMs => {
      write(LEASE_END, endMs)
    },
    leaseEnd: () => read(LEASE_END),
    raiseAccessVersion: () => {
      const version = read(ACCESS_VERSION) + 1
      write(ACCESS_VERSION, version)
      return version
    },
    enterEdge: enter,
    enterSender: pid => {
      const [own, other] = SENDERS
      const index = read(EDGE_PIDS + own) === 0 ? own : other
      enter(index, pid)
      return index
    },
    confirmVersion: (index, version) => {
      write(EDGE_VERSIONS + index, version)
    },
    report: (index, health, tips, slotTimes) => {
      write(EDGE_HEALTHS + index, HEALTHS.indexOf(health))
      writeEach(SLOT_TIMES, slotTimes)
      writeEach(TIPS, tips)
    },
    ...openLaneCounts({ read, write }),
    health: () => {
      const live = edges.filter(index => read(EDGE_PIDS + index) !== 0)
      const worst = Math.max(-1, ...live.map(index => read(EDGE_HEALTHS + index)))
      return HEALTHS[worst] ?? 'unknown'
    },
    tip: network => readOf(TIPS, network),
    slotMs: network => readOf(SLOT_TIMES, network),
    leaveEdge: pid => {
      for (const index of slots) if (read(EDGE_PIDS + index) === pid) write(EDGE_PIDS + index, 0)
    },
    clearEdge: index => {
      write(EDGE_PIDS + index, 0)
    },
    setLagging: (network, isLagging) => {
      if (network < NETWORKS_MAX) write(LAGGING + network, isLagging ? 1 : 0)
    },
    isLagging: network => network < NETWORKS_MAX && read(LAGGING + network) !== 0,
    clearEdges: () => {
      for (let cell = TIPS; cell < EDGE_PIDS + SLOTS; cell++) write(cell, 0)
      for (let cell = LAGGING; cell < CELLS; cell++) write(cell, 0)
    },
    unconfirmedEdges: version =>
      slots
        .filter(index => read(EDGE_PIDS + index) !== 0 && read(EDGE_VERSIONS + index) < version)
        .map(index => read(EDGE_PIDS + index)),
  }
}
