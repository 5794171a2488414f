import type { Lmdb } from '../../storage/lmdb.js'
import { TableStore, type Table } from './table.js'
import {
  SCHEMA,
  TABLES,
  type AccessDocument,
  type ClusterState,
  type MemberKey,
  type StoredAccess,
  type SubjectKey,
} from './tables.js'

type Tokens = Pick<AccessDocument, 'tokens' | 'formerTokens'>

const NO_TOKENS: Tokens = { tokens: [], formerTokens: [] }

const keysOf = ({ tokens, formerTokens }: Tokens): ReadonlySet<string> =>
  new Set([...tokens, ...formerTokens].map(({ digest }) => Buffer.from(digest).toString('latin1')))

/** The access store of one data directory: one process writes it, every edge reads it. */
export class AccessStore extends TableStore {
  readonly meta: Table<string, typeof TABLES.meta>
  readonly accesses: Table<string, typeof TABLES.accesses>
  readonly subjects: Table<SubjectKey, typeof TABLES.subjects>
  readonly digests: Table<Uint8Array, typeof TABLES.digests>
  private webhookTable: Table<string, typeof TABLES.webhooks> | undefined
  private apiKeyTable: Table<Uint8Array, typeof TABLES.apiKeys> | undefined
  private memberTable: Table<MemberKey, typeof TABLES.members> | undefined

  constructor(root: Lmdb) {
    super(root)
    this.meta = this.openTable(TABLES.meta)
    this.accesses = this.openTable(TABLES.accesses)
    this.subjects = this.openTable(TABLES.subjects)
    this.digests = this.openTable(TABLES.digests)
    this.webhookTable = this.findTable(TABLES.webhooks)
    this.apiKeyTable = this.findTable(TABLES.apiKeys)
    this.memberTable = this.findTable(TABLES.members)
  }

  /**
   * Index of accesses with a webhook; undefined of a store that no build with webhooks has written
   * yet.
   */
  webhooks(): Table<string, typeof TABLES.webhooks> | undefined {
    return (this.webhookTable ??= this.findTable(TABLES.webhooks))
  }

  /** Index of API keys; undefined of a store that no build with keys has written yet. */
  apiKeys(): Table<Uint8Array, typeof TABLES.apiKeys> | undefined {
    return (this.apiKeyTable ??= this.findTable(TABLES.apiKeys))
  }

  /** Index of members; undefined of a store that no build with members has written yet. */
  members(): Table<MemberKey, typeof TABLES.members> | undefined {
    return (this.memberTable ??= this.findTable(TABLES.members))
  }

  /** Of the last change that the store contains. */
  get revision(): number {
    return this.meta.get('store')?.revision ?? 0
  }

  /**
   * Only inside a transaction. Replaces an access and what the indexes have of it; the store is at
   * its revision then.
   */
  putAccess(access: StoredAccess): void {
    const { accessId, subject, revision } = access
    const before = this.accesses.get(accessId)
    const [keysBefore, keys] = [keysOf(before ?? NO_TOKENS), keysOf(access)]
    for (const key of keysBefore)
      if (!keys.has(key)) this.digests.remove(Buffer.from(key, 'latin1'))
    for (const { digest, network, location, tail, endedAtMs } of access.formerTokens)
      this.digests.put(digest, { accessId, network, location, former: { tail, endedAtMs } })
    for (const { digest, network, location } of access.tokens)
      this.digests.put(digest, { accessId, network, location })
    if (before !== undefined && before.subject !== subject)
      this.subjects.remove([before.subject, accessId])
    this.subjects.put([subject, accessId], {})
    if (access.webhooks.length > 0) this.webhooks()?.put(accessId, {})
    else if ((before?.webhooks.length ?? 0) > 0) this.webhooks()?.remove(accessId)
    for (const { digest } of before?.apiKeys ?? []) this.apiKeys()?.remove(digest)
    for (const { digest, keyId } of access.apiKeys ?? [])
      this.apiKeys()?.put(digest, { accessId, keyId })
    for (const { email } of before?.members ?? []) this.members()?.remove([email, accessId])
    for (const { email } of access.members ?? []) this.members()?.put([email, accessId], {})
    this.accesses.put(accessId, access)
    this.setRevision(revision)
  }

  /** Only inside a transaction. Replaces all accesses by those of a revision. */
  replaceAll(accesses: readonly StoredAccess[], revision: number): void {
    this.accesses.clear()
    this.subjects.clear()
    this.digests.clear()
    this.webhooks()?.clear()
    this.apiKeys()?.clear()
    this.members()?.clear()
    for (const access of accesses) this.putAccess(access)
    this.setRevision(revision)
  }

  get cluster(): ClusterState | undefined {
    return this.meta.get('store')?.cluster
  }

  /** Only inside a transaction. */
  setCluster(cluster: ClusterState): void {
    this.meta.put('store', { schema: SCHEMA, revision: this.revision, cluster })
  }

  private setRevision(revision: number): void {
    this.meta.put('store', { ...this.meta.get('store'), schema: SCHEMA, revision })
  }
}
