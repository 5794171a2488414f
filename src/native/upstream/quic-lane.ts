import * as addon from '#native'
import { callNative } from '../errors.js'

export type { LaneOptions, LaneSent } from '#native'

/** A connection to one peer that is kept in the background, and streams on it. */
export type QuicLane = Pick<addon.QuicLane, keyof addon.QuicLane>

/** Begins to connect. */
export const openQuicLane = (options: addon.LaneOptions): QuicLane => {
  const native = callNative(() => new addon.QuicLane(options))
  return {
    send: transaction => callNative(() => native.send(transaction)),
    inFlight: () => native.inFlight(),
    state: () => native.state(),
    after: version => callNative(() => native.after(version)),
    close: () => native.close(),
  }
}
