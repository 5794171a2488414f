/**
 * Bytes in memory, within one bound for all. An owner may take no more bytes than it leaves free
 * (a dynamic threshold): one alone gets half, two a third each, so none can take what the next
 * needs.
 */
export class ByteBudget {
  private readonly bytesMax: number
  private readonly byOwner = new Map<string, number>()
  private takenBytes = 0
  private refusals = 0

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax
  }

  /** Bytes of all owners. */
  get bytes(): number {
    return this.takenBytes
  }

  /** Whether an owner may take any bytes. */
  hasRoom(owner: string | undefined): boolean {
    return this.isWithin(owner, 1)
  }

  /** What one reply or body takes. Without an owner only the bound for all holds. */
  open(owner: string | undefined): ByteShare {
    return new ByteShare(
      bytes => this.tryAdd(owner, bytes),
      bytes => this.add(owner, bytes),
      () => this.refusals,
    )
  }

  private tryAdd(owner: string | undefined, bytes: number): boolean {
    const isWithin = this.isWithin(owner, bytes)
    if (isWithin) this.add(owner, bytes)
    else this.refusals++
    return isWithin
  }

  private add(owner: string | undefined, bytes: number): void {
    this.takenBytes += bytes
    if (owner === undefined) return
    const ownBytes = (this.byOwner.get(owner) ?? 0) + bytes
    if (ownBytes === 0) this.byOwner.delete(owner)
    else this.byOwner.set(owner, ownBytes)
  }

  private isWithin(owner: string | undefined, bytes: number): boolean {
    const freeBytes = this.bytesMax - this.takenBytes - bytes
    const ownBytes = owner === undefined ? 0 : (this.byOwner.get(owner) ?? 0) + bytes
    return ownBytes <= freeBytes
  }
}

/**
 * The bytes that one reply or body has taken. Only what it took can be given back, and only once,
 * so that no path makes a budget negative.
 */
export class ByteShare {
  private heldBytes = 0
  private readonly tryAdd: (bytes: number) => boolean
  private readonly add: (bytes: number) => void
  private readonly countRefusals: () => number

  constructor(
    tryAdd: (bytes: number) => boolean,
    add: (bytes: number) => void,
    countRefusals: () => number,
  ) {
    this.tryAdd = tryAdd
    this.add = add
    this.countRefusals = countRefusals
  }

  get bytes(): number {
    return this.heldBytes
  }

  /** How often there was no room in the budget. */
  get refusedCount(): number {
    return this.countRefusals()
  }

  /** Takes bytes, unless a bound is exceeded. */
  tryTake(bytes: number): boolean {
    if (!this.tryAdd(bytes)) return false
    this.heldBytes += bytes
    return true
  }

  /** Takes bytes that are in memory already. */
  take(bytes: number): void {
    this.add(bytes)
    this.heldBytes += bytes
  }

  /** Gives bytes back: all, or a part of them. */
  give(bytes = this.heldBytes): void {
    const given = Math.min(bytes, this.heldBytes)
    this.heldBytes -= given
    if (given > 0) this.add(-given)
  }
}
