/**
 * Bytes in memory, within one bound for all. An owner may take no more bytes than it leaves free
 * (a dynamic threshold): one alone gets half, two a third each, so none can take what the next
 * needs.
 */
export class ByteBudget {
  private readonly bytesMax: number
  private readonly byOwner = new Map<string, number>()
  private takenBytes = 0

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

  /** Takes bytes, unless a bound is exceeded. Without an owner only the bound for all holds. */
  tryTake(owner: string | undefined, bytes: number): boolean {
    const isWithin = this.isWithin(owner, bytes)
    if (isWithin) this.take(owner, bytes)
    return isWithin
  }

  /** Takes bytes that are in memory already. */
  take(owner: string | undefined, bytes: number): void {
    this.takenBytes += bytes
    if (owner === undefined) return
    const ownBytes = (this.byOwner.get(owner) ?? 0) + bytes
    if (ownBytes === 0) this.byOwner.delete(owner)
    else this.byOwner.set(owner, ownBytes)
  }

  /** Gives bytes back that were taken for the same owner. */
  give(owner: string | undefined, bytes: number): void {
    this.take(owner, -bytes)
  }

  private isWithin(owner: string | undefined, bytes: number): boolean {
    const freeBytes = this.bytesMax - this.takenBytes - bytes
    const ownBytes = owner === undefined ? 0 : (this.byOwner.get(owner) ?? 0) + bytes
    return ownBytes <= freeBytes
  }
}
