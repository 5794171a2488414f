import type { Fanout, Pass } from '../native/fanout.js'
import type { LoopTurn } from '../shared/event-loop/loop-turn.js'

/** Delivers the frames of one fan-out. */
export type Driver = {
  /** Makes the frames of what the store has gained. Never throws. */
  advance(): void
  /** Frames of a running pass are discarded. */
  close(): void
}

export type DriverParts = {
  readonly fanout: Fanout
  /** Sends a frame to one group of sockets after the other, and yields how many they are. */
  readonly send: (
    id: number,
    frame: Uint8Array,
    isLast: boolean,
    isReplayed: boolean,
  ) => Iterable<number>
  /** Frames were missed, and cannot be made any more. */
  readonly onLost: () => void
  /** The changes of a slot can no longer be read from the disk. */
  readonly onDamaged: (slot: number) => void
  readonly onPass: (frames: number, bytes: number) => void
  readonly onFault: (fault: unknown) => void
  /** Frames that are sent per turn of the event loop, each counted for every socket. */
  readonly turnFramesMax: number
  /** The time of a turn that frames are sent for. */
  readonly turn: LoopTurn
}

const LAST = 1
const REPLAYED = 2

export const createDriver = (parts: DriverParts): Driver => {
  const { fanout, send, onLost, onDamaged, onPass, onFault, turnFramesMax, turn } = parts
  let isWanted = false
  let isRunning = false
  let isClosed = false
  /** Why the last pass failed; undefined if it succeeded. */
  let lastFailure: string | undefined

  /** Three numbers for each frame: id, length, flags. */
  const deliver = async ({ frames, index }: Pass): Promise<void> => {
    let start = 0
    let sentCount = 0
    for (let at = 0; at + 2 < index.length; at += 3) {
      const end = start + (index[at + 1] ?? 0)
      const flags = index[at + 2] ?? 0
      const isLast = (flags & LAST) !== 0
      const isReplayed = (flags & REPLAYED) !== 0
      for (const count of send(index[at] ?? 0, frames.subarray(start, end), isLast, isReplayed)) {
        sentCount += count
        if (sentCount < turnFramesMax && !turn.isOver) continue
        await turn.next()
        sentCount = 0
        if (isClosed) return
      }
      start = end
    }
  }

  const onPassEnd = async (pass: Pass): Promise<void> => {
    lastFailure = undefined
    if (pass.hasMore) isWanted = true
    if (pass.damagedSlot !== undefined) onDamaged(pass.damagedSlot)
    // Subscribers are closed: the frames of this pass are incomplete.
    if (pass.isLost) return onLost()
    await deliver(pass)
    if (isClosed) return
    onPass(pass.index.length / 3, pass.frames.byteLength)
  }

  const fail = (fault: unknown): void => {
    const reason = fault instanceof Error ? fault.message : String(fault)
    if (reason !== lastFailure) onFault(fault)
    // A second failure in a row would delay frames without a bound.
    if (lastFailure !== undefined) onLost()
    lastFailure = reason
    // The next `advance` tries again.
    isWanted = false
  }

  const run = async (): Promise<void> => {
    while (isWanted && !isClosed) {
      isWanted = false
      try {
        const pass = await fanout.pass()
        if (!isClosed) await onPassEnd(pass)
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
