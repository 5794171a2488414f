/** Bytes of one place: an entry as it was begun, and how it ended. */
const BEGUN_BYTES = 1_280
const ENDED_BYTES = 2_816
const LENGTH_BYTES = 4

/** Bytes of a journal for each entry that may be open at once. */
export const JOURNAL_PLACE_BYTES = BEGUN_BYTES + ENDED_BYTES

/** The longest entries. */
export const BEGUN_BYTES_MAX = BEGUN_BYTES - LENGTH_BYTES
export const ENDED_BYTES_MAX = ENDED_BYTES - LENGTH_BYTES

/**
 * Entries that must outlive the process that writes them, written in the time of a copy: their
 * bytes lie in a mapped file, which the kernel keeps when the process is killed. Only a fall of the
 * machine may lose them.
 */
export type Journal = {
  /** The place of a new entry; undefined where all are taken, or it is too long. */
  begin(entry: Uint8Array): number | undefined
  /**
   * Puts beside an entry how it ended. False where that is too long: then the entry stands alone.
   */
  end(place: number, ended: Uint8Array): boolean
  /** Frees a place. */
  clear(place: number): void
  /** What an earlier life left, to be looked at before the first `begin`. */
  left(): readonly Left[]
}

/** An entry, and how it ended where that is known. */
export type Left = {
  readonly place: number
  readonly entry: Uint8Array
  readonly ended: Uint8Array | undefined
}

/** A journal in `bytes`, which are a whole number of places, zero at first. */
export const createJournal = (bytes: Uint8Array): Journal => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const count = Math.floor(bytes.byteLength / JOURNAL_PLACE_BYTES)
  const startOf = (place: number): number => place * JOURNAL_PLACE_BYTES
  const entryAt = (start: number, bytesMax: number): Uint8Array | undefined => {
    const length = view.getUint32(start)
    if (length === 0 || length > bytesMax) return undefined
    return bytes.slice(start + LENGTH_BYTES, start + LENGTH_BYTES + length)
  }
  // The length comes last: until then there is no entry.
  const write = (start: number, entry: Uint8Array): void => {
    bytes.set(entry, start + LENGTH_BYTES)
    view.setUint32(start, entry.byteLength)
  }
  const leftAt = (place: number): Left | undefined => {
    const entry = entryAt(startOf(place), BEGUN_BYTES_MAX)
    const ended = entryAt(startOf(place) + BEGUN_BYTES, ENDED_BYTES_MAX)
    return entry && { place, entry, ended }
  }

  const free: number[] = []
  for (let place = count - 1; place >= 0; place--) if (leftAt(place) === undefined) free.push(place)

  return {
    begin(entry) {
      if (entry.byteLength > BEGUN_BYTES_MAX) return undefined
      const place = free.pop()
      if (place !== undefined) write(startOf(place), entry)
      return place
    },
    end(place, ended) {
      if (ended.byteLength > ENDED_BYTES_MAX) return false
      write(startOf(place) + BEGUN_BYTES, ended)
      return true
    },
    clear(place) {
      // The entry last: a death in between leaves it alone.
      view.setUint32(startOf(place) + BEGUN_BYTES, 0)
      view.setUint32(startOf(place), 0)
      free.push(place)
    },
    left: () => Array.from({ length: count }, (_, place) => leftAt(place) ?? []).flat(),
  }
}
