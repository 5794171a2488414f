/** Slots that the sysvar remembers. */
const SLOTS = 2 ** 20
/** The bitmap is an option of a list of words, then its length in bits. */
const BITS_AT = 9
const BITS_END = BITS_AT + SLOTS / 8

/** The SlotHistory sysvar: which of the last slots have a block. */
export class SlotHistory {
  private readonly bytes = Buffer.alloc(BITS_END + 16)
  private nextSlot = 1

  constructor() {
    const { bytes } = this
    bytes.writeUInt8(1)
    bytes.writeBigUInt64LE(BigInt(SLOTS / 64), 1)
    bytes.writeUInt8(1, BITS_AT)
    bytes.writeBigUInt64LE(BigInt(SLOTS), BITS_END)
  }

  /** Adds a slot that is later than all others, and returns the account's data. */
  add(slot: number): Buffer {
    const { bytes } = this
    if (slot - this.nextSlot >= SLOTS) bytes.fill(0, BITS_AT, BITS_END)
    else for (let skipped = this.nextSlot; skipped < slot; skipped++) this.set(skipped, 0)
    this.set(slot, 1)
    this.nextSlot = slot + 1
    bytes.writeBigUInt64LE(BigInt(this.nextSlot), BITS_END + 8)
    return Buffer.from(bytes)
  }

  private set(slot: number, bit: 0 | 1): void {
    const index = slot % SLOTS
    const at = BITS_AT + (index >> 3)
    const mask = 1 << (index & 7)
    const byte = this.bytes.readUInt8(at)
    this.bytes.writeUInt8(bit === 1 ? byte | mask : byte & ~mask, at)
  }
}
