import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import * as v from 'valibot'
import type { Lmdb } from '../../storage/lmdb.js'
import { defaults, type Options } from './options.js'
import { openRoot, TableStore, type Table, type TableRow } from './table.js'

/** Unix milliseconds. */
const instantMs = v.pipe(v.number(), v.integer(), v.minValue(0))

const meta = v.object({
  /** Fingerprint of the key that seals tokens. */
  sealingKeyId: v.string(),
})

const session = v.object({
  /** The `sub` claim of the identity provider. */
  subject: v.string(),
  email: v.string(),
  /** The address if it is verified, in the form that is compared; empty if not, or if unknown. */
  verifiedEmail: v.optional(v.string(), ''),
  name: v.string(),
  createdAtMs: instantMs,
  /** Last use, stored at intervals. */
  seenAtMs: instantMs,
  /** When the person last entered a password, as far as known; 0 in a store of an older build. */
  authenticatedAtMs: v.optional(instantMs, 0),
  /** Address of the client at the last use; empty in a store of an older build. */
  address: v.optional(v.string(), ''),
  /** Browser and system at the sign-in; empty if unknown. */
  browser: v.optional(v.string(), ''),
})

/** A session of the dashboard. */
export type SessionRecord = Readonly<v.InferOutput<typeof session>>

const incident = v.object({
  /** Where it was; null if it concerns no location. */
  location: v.nullable(v.string()),
  /** The machine of the cluster; null on a machine by itself. */
  machine: v.nullable(v.string()),
  /** States that `/health` reported meanwhile, or `process-restarted`; each once. */
  reasons: v.pipe(v.array(v.string()), v.readonly()),
  /** Which process ended, and how; empty for a state. */
  detail: v.string(),
  startedAtMs: instantMs,
  /** Null while it lasts. */
  endedAtMs: v.nullable(instantMs),
})

/** A time in which a location did not serve as it should. */
export type IncidentRecord = Readonly<v.InferOutput<typeof incident>>

const adminToken = v.object({
  /** SHA-256 of the token. */
  digest: v.custom<Uint8Array>(value => value instanceof Uint8Array),
  /** The token's last characters. */
  tail: v.string(),
  role: v.picklist(['read', 'change']),
  createdAtMs: instantMs,
  /** Exclusive; null is no end. */
  validUntilMs: v.nullable(instantMs),
})

/** A token of the admin API beside that of the file. */
export type AdminTokenRecord = Readonly<v.InferOutput<typeof adminToken>>

/** All tables of `<data-dir>/control/`, with values as in the access store. */
// prettier-ignore
export const CONTROL_TABLES = {
  meta:     { name: 'meta',     key: 'ordered-binary', value: meta,    meaning: 'key `sealing` → fingerprint of the sealing key, from the first sealed token on' },
  sessions: { name: 'sessions', key: 'binary',         value: session, meaning: 'SHA-256 of a session id → the session' },
  incidents: { name: 'incidents', key: 'ordered-binary', value: incident, meaning: 'begin in Unix milliseconds, number → an incident' },
  adminTokens: { name: 'adminTokens', key: 'ordered-binary', value: adminToken, meaning: 'name → SHA-256, role and end of a token of the admin API' },
} as const satisfies Record<string, TableRow>

/** What control keeps for itself. No other process opens it. */
export class ControlStore extends TableStore {
  readonly meta: Table<string, typeof CONTROL_TABLES.meta>
  readonly sessions: Table<Uint8Array, typeof CONTROL_TABLES.sessions>
  readonly incidents: Table<string, typeof CONTROL_TABLES.incidents>
  readonly adminTokens: Table<string, typeof CONTROL_TABLES.adminTokens>

  constructor(root: Lmdb) {
    super(root)
    this.meta = this.openTable(CONTROL_TABLES.meta)
    this.sessions = this.openTable(CONTROL_TABLES.sessions)
    this.incidents = this.openTable(CONTROL_TABLES.incidents)
    this.adminTokens = this.openTable(CONTROL_TABLES.adminTokens)
  }
}

/** Opens control's store, and creates it if it is absent. */
export const openControlStore = (dataDir: string, options: Options = defaults): ControlStore => {
  const path = join(dataDir, 'control')
  mkdirSync(path, { recursive: true, mode: 0o700 })
  return new ControlStore(openRoot(path, options, false))
}
