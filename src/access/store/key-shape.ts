import * as v from 'valibot'

const id = v.pipe(v.string(), v.nonEmpty(), v.maxLength(64))
/** Unix milliseconds. */
const instantMs = v.pipe(v.number(), v.integer(), v.minValue(0))

/** The longest time for which an API key can be made: a year. */
export const API_KEY_DAYS_MAX = 366

/** What an API key may be made for; a route declares the one that it needs. */
export const API_KEY_SCOPES = [
  'usage:read',
  'submissions:read',
  'alerts:manage',
  'token:restrict',
  'token:regenerate',
] as const
export type ApiKeyScope = (typeof API_KEY_SCOPES)[number]

/** A key of an access for the API of the dashboard. */
export const apiKey = v.object({
  keyId: id,
  /** The holder's name for it. */
  label: v.string(),
  /** SHA-256 of the key. */
  digest: v.custom<Uint8Array>(value => value instanceof Uint8Array),
  /** Its last characters. */
  tail: v.string(),
  /** Any text, so that an earlier build reads an access whose keys have later scopes. */
  scopes: v.pipe(v.array(id), v.readonly()),
  createdAtMs: instantMs,
  /** Exclusive. */
  validUntilMs: instantMs,
  /** The last use, which is stored at intervals; null before the first. */
  lastUsedMs: v.nullable(instantMs),
})

/** An API key as the document of its access contains it. */
export type ApiKeyRecord = Readonly<v.InferOutput<typeof apiKey>>
