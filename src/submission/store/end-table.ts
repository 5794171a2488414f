import * as v from 'valibot'
import type { LmdbTable } from '../../storage/lmdb.js'
import { endOf, endSchema, type SubmissionEnd } from './end.js'
import { pack, unpack } from './rows.js'
import { submissionSchema } from './submission.js'

/**
 * Ends that may wait, about 200 bytes each. They do while the store of usage cannot be written;
 * beyond it they are not counted.
 */
const WAITING_MAX = 200_000

/** Removed records that are remembered, each for longer than a write of it waits. */
const REMOVED_MAX = 4_096

/** How a submission ended, with its id in hexadecimal. */
export type WaitingEnd = SubmissionEnd & { readonly id: string }

const toHex = (id: Uint8Array): string =>
  Buffer.from(id.buffer, id.byteOffset, id.byteLength).toString('hex')

/** Ends of submissions that are not in the store of usage yet: id → end. */
export class EndTable {
  private readonly table: LmdbTable<Uint8Array>
  private waiting: number
  /** Ids of records that were removed before their end was known. */
  private readonly removed = new Set<string>()

  constructor(table: LmdbTable<Uint8Array>) {
    this.table = table
    this.waiting = table.getKeysCount()
  }

  /** Returns the writes, to be committed with the record that has reached this end. */
  put(id: Uint8Array, end: SubmissionEnd): readonly Promise<boolean>[] {
    if (this.waiting >= WAITING_MAX) return []
    this.waiting++
    return [this.table.put(id, pack(end))]
  }

  /** The same of a record that is removed, of which nothing more will be known. */
  putRemoved(id: Uint8Array, row: unknown): readonly Promise<boolean>[] {
    const { success, output } = v.safeParse(submissionSchema, row)
    if (!success || endOf(output) !== undefined) return []
    const end = endOf(output, true)
    if (end === undefined) return []
    this.removed.add(toHex(id))
    const [oldest] = this.removed
    if (this.removed.size > REMOVED_MAX && oldest !== undefined) this.removed.delete(oldest)
    return this.put(id, end)
  }

  /** Whether a record was removed with its end: what is known later of it comes too late. */
  wasRemoved(id: Uint8Array): boolean {
    return this.removed.size > 0 && this.removed.has(toHex(id))
  }

  /** The first ids, and the ends of those that this build can read. */
  page(countMax: number): {
    readonly ids: readonly string[]
    readonly ends: readonly WaitingEnd[]
  } {
    const ids: string[] = []
    const ends: WaitingEnd[] = []
    for (const { key, value } of this.table.getRange({ limit: countMax })) {
      const id = toHex(key)
      const { success, output } = v.safeParse(endSchema, unpack(value))
      ids.push(id)
      if (success) ends.push({ id, ...output })
    }
    return { ids, ends }
  }

  /** Returns the writes. */
  remove(ids: readonly string[]): readonly Promise<boolean>[] {
    this.waiting -= ids.length
    return ids.map(id => this.table.remove(Buffer.from(id, 'hex')))
  }
}
