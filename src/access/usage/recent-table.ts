/**
 * A table of texts in a file of counts, each with when it was last seen. Its entries are in any
 * order: when (8 bytes; 0: none), length of the text (1), text (55), then further cells.
 */
export type TablePlace = {
  /** Offset in bytes of the first entry. */
  readonly at: number
  readonly entries: number
  readonly entryBytes: number
}

const LENGTH_AT = 8
const TEXT_AT = LENGTH_AT + 1
const TEXT_CHARS_MAX = 55
/** Cells of an entry before the further ones. */
export const RECENT_CELLS = (TEXT_AT + TEXT_CHARS_MAX) / 8

type Entry = { readonly at: number; readonly text: string; readonly lastSeenMs: number }

/** The entries of a table in a file. */
export const readRecent = (
  bytes: Buffer,
  { at: start, entries, entryBytes }: TablePlace,
): readonly Entry[] =>
  Array.from({ length: entries }, (_, index) => {
    const at = start + index * entryBytes
    const end = at + TEXT_AT + (bytes[at + LENGTH_AT] ?? 0)
    return {
      at,
      text: bytes.toString('latin1', at + TEXT_AT, end),
      lastSeenMs: bytes.readDoubleLE(at),
    }
  }).filter(({ lastSeenMs }) => lastSeenMs > 0)

/** Writes one table. The text that was not seen for the longest time makes room for another one. */
export class RecentTable {
  readonly #cells: Float64Array
  readonly #bytes: Buffer
  readonly #place: TablePlace
  /** Offsets by text; read from the file at the first use. */
  #known: Map<string, number> | undefined

  constructor(cells: Float64Array, bytes: Buffer, place: TablePlace) {
    this.#cells = cells
    this.#bytes = bytes
    this.#place = place
  }

  /** Marks a text as seen; returns the first cell of its entry, and whether the entry is new. */
  see(text: string, nowMs: number): { readonly cell: number; readonly isNew: boolean } {
    const known = (this.#known ??= new Map(
      readRecent(this.#bytes, this.#place).map(entry => [entry.text, entry.at]),
    ))
    const found = known.get(text)
    const at = found ?? this.#write(known, text)
    this.#cells[at / 8] = nowMs
    return { cell: at / 8, isNew: found === undefined }
  }

  #write(known: Map<string, number>, text: string): number {
    const at = known.size < this.#place.entries ? this.#findFree(known) : this.#evict(known)
    const bytes = this.#bytes
    bytes[at + LENGTH_AT] = Math.min(text.length, TEXT_CHARS_MAX)
    bytes.write(text, at + TEXT_AT, TEXT_CHARS_MAX, 'latin1')
    known.set(text, at)
    return at
  }

  #findFree(known: ReadonlyMap<string, number>): number {
    const { at, entries, entryBytes } = this.#place
    const used = new Set(known.values())
    const all = Array.from({ length: entries }, (_, index) => at + index * entryBytes)
    return all.find(one => !used.has(one)) ?? at
  }

  #evict(known: Map<string, number>): number {
    const seenMs = (at: number): number => this.#cells[at / 8] ?? 0
    const [[text, at] = ['', this.#place.at]] = [...known].toSorted(
      ([, one], [, other]) => seenMs(one) - seenMs(other),
    )
    known.delete(text)
    return at
  }
}
