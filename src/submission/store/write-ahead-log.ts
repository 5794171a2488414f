/** Bytes of one slot: an entry, and its ending. */
const ENTRY_BYTES = 1_280
const ENDING_BYTES = 2_816
const LENGTH_BYTES = 4

/** Bytes of a log for each entry that may be open at once. */
export const WAL_SLOT_BYTES = ENTRY_BYTES + ENDING_BYTES

/** The longest entry and ending. */
export const ENTRY_BYTES_MAX = ENTRY_BYTES - LENGTH_BYTES
export const ENDING_BYTES_MAX = ENDING_BYTES - LENGTH_BYTES

/** An entry of an earlier process, and its ending where it was written. */
export type RecoveredEntry = {
  readonly slot: number
  readonly entry: Uint8Array
  readonly ending: Uint8Array | undefined
}

/**
 * Entries that must outlive the process that writes them, written in the time of a copy: their
 * bytes are in a mapped file, which the kernel keeps when the process is killed. Only a crash of
 * the machine may lose them. `bytes` are a whole number of slots, zero at first.
 */
export class WriteAheadLog {
  private readonly bytes: Uint8Array
  private readonly view: DataView
  private readonly free: number[] = []

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    for (let slot = this.slotCount - 1; slot >= 0; slot--)
      if (this.recoverSlot(slot) === undefined) this.free.push(slot)
  }

  /** The slot of the new entry; undefined where all are in use, or it is too long. */
  append(entry: Uint8Array): number | undefined {
    if (entry.byteLength > ENTRY_BYTES_MAX) return undefined
    const slot = this.free.pop()
    if (slot !== undefined) this.write(slot * WAL_SLOT_BYTES, entry)
    return slot
  }

  /** Adds how the entry ended. False where that is too long: then the entry is unchanged. */
  appendEnding(slot: number, ending: Uint8Array): boolean {
    if (ending.byteLength > ENDING_BYTES_MAX) return false
    this.write(slot * WAL_SLOT_BYTES + ENTRY_BYTES, ending)
    return true
  }

  clear(slot: number): void {
    // The entry last: a kill in between leaves the entry without its ending.
    this.view.setUint32(slot * WAL_SLOT_BYTES + ENTRY_BYTES, 0)
    this.view.setUint32(slot * WAL_SLOT_BYTES, 0)
    this.free.push(slot)
  }

  /** Entries of an earlier process. Call it before the first `append`. */
  recover(): readonly RecoveredEntry[] {
    return Array.from({ length: this.slotCount }, (_, slot) => this.recoverSlot(slot) ?? []).flat()
  }

  private get slotCount(): number {
    return Math.floor(this.bytes.byteLength / WAL_SLOT_BYTES)
  }

  private recoverSlot(slot: number): RecoveredEntry | undefined {
    const start = slot * WAL_SLOT_BYTES
    const entry = this.read(start, ENTRY_BYTES_MAX)
    return entry && { slot, entry, ending: this.read(start + ENTRY_BYTES, ENDING_BYTES_MAX) }
  }

  private read(start: number, bytesMax: number): Uint8Array | undefined {
    const length = this.view.getUint32(start)
    if (length === 0 || length > bytesMax) return undefined
    return this.bytes.slice(start + LENGTH_BYTES, start + LENGTH_BYTES + length)
  }

  /** The length is written last: until then there is no entry. */
  private write(start: number, value: Uint8Array): void {
    this.bytes.set(value, start + LENGTH_BYTES)
    this.view.setUint32(start, value.byteLength)
  }
}
