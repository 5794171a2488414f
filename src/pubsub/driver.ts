import type { Fanout, Pass } from '../native/fanout.js'

/** Brings the frames of one fan-out to those who listen. */
export type Driver = {
  /** The store may hold more than before. Never throws. */
  advance(): void
  /** What a pass makes that still runs goes nowhere. */
  close(): void
}

export type DriverParts = {
  readonly fanout: Fanout
  readonly onFrame: (id: number, frame: Uint8Array, isLast: boolean) => void
  /** Frames are missing that nobody can make any more. */
  readonly onLost: () => void
  readonly onPass: (frames: number, bytes: number) => void
  readonly onFault: (fault: unknown) => void
}

const LAST = 1

/** Three numbers for each frame: id, length, flags. */
const deliver = ({ frames, index }: Pass, onFrame: DriverParts['onFrame']): void => {
  let start = 0
  for (let at = 0; at + 2 < index.length; at += 3) {
    const end = start + (index[at + 1] ?? 0)
    onFrame(index[at] ?? 0, frames.subarray(start, end), ((index[at + 2] ?? 0) & LAST) !== 0)
    start = end
  }
}

export const createDriver = (parts: DriverParts): Driver => {
  const { fanout, onFrame, onLost, onPass, onFault } = parts
  let isWanted = false
  let isRunning = false
  let isClosed = false
  /** Of the failure before this pass; undefined where it did not fail. */
  let failure: string | undefined

  const take = (pass: Pass): void => {
    failure = undefined
    if (pass.hasMore) isWanted = true
    // Those who listen are told by a close; what has been found for them is not whole.
    if (pass.isLost) return onLost()
    deliver(pass, onFrame)
    onPass(pass.index.length / 3, pass.frames.byteLength)
  }

  const fail = (fault: unknown): void => {
    const reason = fault instanceof Error ? fault.message : String(fault)
    if (reason !== failure) onFault(fault)
    // Once may pass; twice in a row, and frames are late for no bounded time.
    if (failure !== undefined) onLost()
    failure = reason
    // The next look at the tip is soon enough for what has just failed.
    isWanted = false
  }

  const run = async (): Promise<void> => {
    while (isWanted && !isClosed) {
      isWanted = false
      try {
        const pass = await fanout.pass()
        if (!isClosed) take(pass)
      } catch (fault) {
        if (!isClosed) fail(fault)
      }
    }
    isRunning = false
  }

  return {
    advance: () => {
      isWanted = true
      if (isRunning || isClosed) return
      isRunning = true
      void run()
    },
    close: () => {
      isClosed = true
      fanout.close()
    },
  }
}
