/** Records of an access that one more removes at most. */
const REMOVED_MAX = 2

/**
 * Which records of each access a table has, oldest first, so that one access cannot evict those of
 * others. Ids are hexadecimal and sort by time. An id that the table has lost meanwhile takes a
 * place until it is the oldest, where removing it does nothing.
 */
export class AccessBounds {
  private readonly countMax: number
  /** By key of the access, as hexadecimal. */
  private readonly ids = new Map<string, Set<string>>()
  private accesses: IterableIterator<string> = this.ids.keys()

  constructor(countMax: number) {
    this.countMax = countMax
  }

  /**
   * Adds a record; returns those that must be removed for it: two where more are known than may be
   * kept, so that these become fewer.
   */
  add(access: string, id: string): readonly string[] {
    const known = this.learn(access, id)
    const removed: string[] = []
    for (const oldest of known) {
      if (known.size <= this.countMax || removed.length === REMOVED_MAX) break
      known.delete(oldest)
      removed.push(oldest)
    }
    return removed
  }

  /** Adds a record that the table has, newer than those that are known of its access. */
  learn(access: string, id: string): Set<string> {
    const known = this.ids.get(access) ?? new Set()
    this.ids.set(access, known)
    return known.add(id)
  }

  /** Adds the records of another one, which are newer. */
  learnAll({ ids }: AccessBounds): void {
    for (const [access, known] of ids) for (const id of known) this.learn(access, id)
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
