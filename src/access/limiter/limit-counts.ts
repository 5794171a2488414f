import { sharedCells } from '../../native/os.js'
import { LIMIT_NAMES, type LimitName } from '../../shared/access-limits.js'

/**
 * What is counted of the rows of the limit table and limits nothing, in a file beside it. One row
 * for each of its rows:
 *
 *     halves 0 to 4   refusals by limit since the row was assigned, in the order of `LIMIT_NAMES`
 *     from half 6     of each edge: subscriptions, then those of the WebSocket that has the most
 */
const EDGES = LIMIT_NAMES.length + (LIMIT_NAMES.length % 2)

/** Subscriptions of an access. */
export type Subscriptions = {
  readonly subscriptions: number
  /** Of the WebSocket that has the most. */
  readonly subscriptionsOfSocket: number
}

/** The file of counts beside a limit table. */
export const countsPath = (tablePath: string): string => `${tablePath}-counts`

export class LimitCounts {
  readonly #counts: Int32Array
  readonly #edgeCount: number
  readonly #rowCount: number
  readonly #rowHalves: number

  constructor(
    path: string,
    { edgeCount, rowCount }: { readonly edgeCount: number; readonly rowCount: number },
  ) {
    this.#edgeCount = edgeCount
    this.#rowCount = rowCount
    this.#rowHalves = EDGES + edgeCount * 2
    const cellCount = (rowCount * this.#rowHalves) / 2
    const cells = sharedCells(path, cellCount)
    this.#counts = new Int32Array(cells.buffer, cells.byteOffset, cells.length * 2)
  }

  addRefused(row: number, limit: LimitName): void {
    Atomics.add(this.#counts, row * this.#rowHalves + LIMIT_NAMES.indexOf(limit), 1)
  }

  refusedOf(row: number): readonly number[] {
    const start = row * this.#rowHalves
    return LIMIT_NAMES.map((_, index) => Atomics.load(this.#counts, start + index) >>> 0)
  }

  setSubscriptions(row: number, edgeIndex: number, found: Subscriptions): void {
    const at = this.#edgeAt(row, edgeIndex)
    Atomics.store(this.#counts, at, found.subscriptions)
    Atomics.store(this.#counts, at + 1, found.subscriptionsOfSocket)
  }

  /** Sums over the edges; the most over their WebSockets. */
  subscriptionsOf(row: number): Subscriptions {
    let [subscriptions, subscriptionsOfSocket] = [0, 0]
    for (let edge = 0; edge < this.#edgeCount; edge++) {
      const at = this.#edgeAt(row, edge)
      subscriptions += Atomics.load(this.#counts, at)
      subscriptionsOfSocket = Math.max(subscriptionsOfSocket, Atomics.load(this.#counts, at + 1))
    }
    return { subscriptions, subscriptionsOfSocket }
  }

  clear(row: number): void {
    this.#counts.fill(0, row * this.#rowHalves, (row + 1) * this.#rowHalves)
  }

  clearEdge(edgeIndex: number): void {
    for (let row = 0; row < this.#rowCount; row++) {
      const at = this.#edgeAt(row, edgeIndex)
      this.#counts.fill(0, at, at + 2)
    }
  }

  #edgeAt(row: number, edgeIndex: number): number {
    return row * this.#rowHalves + EDGES + edgeIndex * 2
  }
}
