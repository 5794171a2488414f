import * as addon from '#native'
import { callNative } from '../errors.js'

/**
 * What accesses have in use at this moment, shared by all edges of the machine. A key is the 64
 * bits of `keyOfAccess`.
 */
export type LimitTable = addon.LimitTable
/** Which limit was exceeded. */
export type Exceeded = addon.Exceeded
/** Why a request or a WebSocket is refused: `'full'` if every row of the table is in use. */
export type LimitRefusal = Exceeded | 'full'
/** What an access has in use over all edges of the machine. */
export type Utilisation = addon.Utilisation

/** Maps a limit table. Every process must pass the same numbers. */
export const mapLimitTable = (
  path: string,
  { edgeCount, rowCount }: { readonly edgeCount: number; readonly rowCount: number },
): LimitTable => callNative(() => new addon.LimitTable(path, edgeCount, rowCount))

/** The limits of an access at one edge, and what it has in use there. */
export class LimitedAccess extends addon.LimitedAccess {
  /** Its getter would take longer than the call. */
  readonly #id = this.id

  /** Admits one request, or returns the limit it exceeds. Admitted ones must be released. */
  acquire(now: () => number): undefined | LimitRefusal {
    return addon.acquireRequest(this.#id, now(), now)
  }

  /** Ends admitted requests. */
  release(count: number): void {
    addon.releaseRequests(this.#id, count)
  }
}
