import * as v from 'valibot'
import type { Lmdb } from '../../storage/lmdb.js'
import { AccessStore } from './access-store.js'
import { CONTROL_TABLES, openControlStore } from './control-store.js'
import type { Options } from './options.js'
import { TableStore, type Table, type TableRow } from './table.js'
import { SCHEMA, TABLES, type AccessDocument } from './tables.js'

const access = TABLES.accesses.value
const token = access.entries.tokens.item

/** The tables of layout 1, which had each token in a row, and the sessions of the dashboard. */
// prettier-ignore
const LAYOUT_1 = {
  meta:     { name: 'meta', key: 'ordered-binary', value: v.object({ schema: v.number(), sealingKeyId: v.nullish(v.string()) }), meaning: 'key `store` → layout and sealing key' },
  accesses: { name: 'accesses', key: 'ordered-binary', value: v.omit(access, ['tokens', 'changeId', 'revision']), meaning: 'access id → pass or rental' },
  tokens:   { name: 'tokens', key: 'ordered-binary', value: v.omit(token, ['network', 'location']), meaning: 'access id, network, location → the token of this scope' },
  sessions: { ...CONTROL_TABLES.sessions },
} as const satisfies Record<string, TableRow>

type TokenKey = [accessId: string, network: string, location: string]

class Layout1Meta extends TableStore {
  readonly #meta: Table<string, typeof LAYOUT_1.meta> = this.openTable(LAYOUT_1.meta)

  get isPresent(): boolean {
    return this.#meta.get('store')?.schema === 1
  }

  get sealingKeyId(): string | undefined {
    return this.#meta.get('store')?.sealingKeyId ?? undefined
  }
}

class Layout1 extends TableStore {
  readonly accesses: Table<string, typeof LAYOUT_1.accesses> = this.openTable(LAYOUT_1.accesses)
  readonly tokens: Table<TokenKey, typeof LAYOUT_1.tokens> = this.openTable(LAYOUT_1.tokens)
  readonly sessions: Table<Uint8Array, typeof LAYOUT_1.sessions> = this.openTable(LAYOUT_1.sessions)

  /** Only inside a transaction. */
  clear(): void {
    this.accesses.clear()
    this.tokens.clear()
    this.sessions.clear()
  }
}

/** Puts what control keeps for itself into control's store; repeated, it puts the same. */
const moveToControl = async (
  { sessions }: Layout1,
  sealingKeyId: string | undefined,
  dataDir: string,
  options: Options,
): Promise<void> => {
  const control = openControlStore(dataDir, options)
  try {
    await control.transaction(() => {
      if (sealingKeyId !== undefined) control.meta.put('sealing', { sealingKeyId })
      for (const [id, session] of sessions.from(new Uint8Array())) control.sessions.put(id, session)
    })
  } finally {
    await control.close()
  }
}

/** The tokens of an access as its document has them. */
const tokensOf = ({ tokens }: Layout1, accessId: string): AccessDocument['tokens'] => {
  const found = []
  for (const [[owner, network, location], record] of tokens.from([accessId, '', ''])) {
    if (owner !== accessId) break
    found.push({ network, location, ...record })
  }
  return found
}

/**
 * Converts a store of layout 1 in one transaction: a process that ends in the middle leaves it as
 * it was.
 */
export const convertLayout1 = async (
  root: Lmdb,
  dataDir: string,
  options: Options,
): Promise<void> => {
  const meta = new Layout1Meta(root)
  if (!meta.isPresent) return
  const former = new Layout1(root)
  await moveToControl(former, meta.sealingKeyId, dataDir, options)
  const store = new AccessStore(root)
  await store.transaction(() => {
    // Read whole before the first is written, because the table is the same.
    const accesses = Array.from(former.accesses.from(''), ([, found]) => ({
      ...found,
      tokens: tokensOf(former, found.accessId),
      changeId: 'layout-1',
    }))
    former.clear()
    store.meta.put('store', { schema: SCHEMA, revision: 0 })
    for (const [index, found] of accesses.entries())
      store.putAccess({ ...found, revision: index + 1 })
  })
}
