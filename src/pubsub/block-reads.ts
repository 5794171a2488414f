import { RpcError } from '../shared/errors.js'
import type { Entry } from './registry.js'

export type BlockReadsParts = {
  /** The ids whose notifications are read for each block. */
  readonly readers: () => Iterable<Entry>
  /** The newest block; undefined without one. */
  readonly slot: () => number | undefined
  /** Sends a frame to one group of sockets after the other, and yields how many they are. */
  readonly send: (id: number, frame: Uint8Array) => Iterable<number>
  readonly onFault: (fault: unknown) => void
}

const toFrame = (kind: string, id: number, result: Uint8Array): Buffer =>
  Buffer.concat([
    Buffer.from(`{"jsonrpc":"2.0","method":"${kind}Notification","params":{"result":`),
    result,
    Buffer.from(`,"subscription":${id}}}`),
  ])

const nextTurn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

/**
 * Notifies what a read of the index answers for each block, once for equal subscriptions. One read
 * runs at a time, and ids take turns; one that is behind is next notified of the newest block. A
 * block that comes while an id is read may be in its answer, and is not read again.
 */
export class BlockReads {
  private readonly parts: BlockReadsParts
  /** The newest block that an id was read for, or at. */
  private readonly done = new WeakMap<Entry, number>()
  private isRunning = false
  private isClosed = false

  constructor(parts: BlockReadsParts) {
    this.parts = parts
  }

  /** To be called when there may be a newer block, or another id. Never throws. */
  advance(): void {
    if (this.isRunning) return
    this.isRunning = true
    void this.run().finally(() => {
      this.isRunning = false
    })
  }

  close(): void {
    this.isClosed = true
  }

  private async run(): Promise<void> {
    const { readers } = this.parts
    let hasRead = true
    while (hasRead) {
      hasRead = false
      for (const entry of [...readers()]) if (await this.read(entry)) hasRead = true
    }
  }

  /** Returns false if the id has the newest block. */
  private async read(entry: Entry): Promise<boolean> {
    const { onFault, send, slot } = this.parts
    const newest = slot()
    const { read } = entry.subscription
    const before = this.done.get(entry)
    const isDone = newest === undefined || newest === before
    if (this.isClosed || isDone || read === undefined || entry.refCount === 0) return false
    try {
      const { result, slot: readAt } = await read.run()
      if (this.isClosed || entry.refCount === 0) return true
      // The answer is that of the block before: the next call of `advance` reads it again.
      if (readAt === before) return false
      this.done.set(entry, readAt)
      for (const _ of send(entry.id, toFrame(read.kind, entry.id, result))) await nextTurn()
    } catch (error) {
      // As without a block, or while too many reads run: the next block is another chance.
      this.done.set(entry, newest)
      if (!(error instanceof RpcError)) onFault(error)
    }
    return true
  }
}
