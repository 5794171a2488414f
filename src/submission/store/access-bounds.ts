/**
 * Which records of each access a table has, oldest first, so that one access cannot evict those of
 * others. Ids are hexadecimal and sort by time. An id that the table has lost meanwhile takes a
 * place until it is the oldest, where removing it does nothing.
 */
export class AccessBounds {
  private readonly countMax: number
  private readonly ids = new Map<string, Set<string>>()
  private accesses: IterableIterator<string> = this.ids.keys()

  constructor(countMax: number) {
    this.countMax = countMax
  }

  /** Adds a record; returns the record that must be removed for it. */
  add(accessId: string, id: string): string | undefined {
    const known = this.ids.get(accessId)
    if (known === undefined) {
      this.ids.set(accessId, new Set([id]))
      return undefined
    }
    known.add(id)
    if (known.size <= this.countMax) return undefined
    const [oldest] = known
    if (oldest !== undefined) known.delete(oldest)
    return oldest
  }

  /** Forgets the ids before the table's oldest one, of one access at each call. */
  forgetBefore(oldest: string): void {
    const next = this.accesses.next()
    if (next.done === true) {
      this.accesses = this.ids.keys()
      return
    }
    const known = this.ids.get(next.value)
    for (const id of known ?? []) {
      if (id >= oldest) break
      known?.delete(id)
    }
    if (known?.size === 0) this.ids.delete(next.value)
  }
}
