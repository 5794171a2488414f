import * as v from 'valibot'

const id = v.pipe(v.string(), v.nonEmpty(), v.maxLength(64))
const bytes = v.custom<Uint8Array>(value => value instanceof Uint8Array)
const count = v.pipe(v.number(), v.integer(), v.minValue(0))
/** Unix milliseconds. */
const instantMs = count

const message = v.object({
  /** The same at each attempt, so that a receiver recognises a repetition. */
  messageId: id,
  /** A kind of warning, or `test`. */
  kind: id,
  createdAtMs: instantMs,
  /** What is sent; empty once nothing is sent any more. */
  body: v.string(),
  state: v.picklist(['pending', 'delivered', 'failed']),
  attempts: count,
  /** The next attempt, while it is pending. */
  nextAtMs: instantMs,
  /** Status of the last answer; null without one. */
  status: v.nullable(count),
  /** Why the last attempt failed; empty if it did not. */
  problem: v.string(),
})

const place = v.object({ kind: id, network: v.nullable(id), location: v.nullable(id) })

/** Where the warnings of an access are sent, and what was and will be sent. */
export const webhook = v.object({
  webhookId: id,
  /** Scheme, host and port of the URL; its path may be a secret. */
  origin: v.string(),
  /** URL and signing secret under AES-256-GCM, as tokens are. */
  sealedUrl: bytes,
  sealedSecret: bytes,
  createdAtMs: instantMs,
  /** When the receiver answered 410, which turned it off; null while it is on. */
  goneAtMs: v.nullable(instantMs),
  /** Warnings that last and were reported. */
  reported: v.pipe(v.array(place), v.readonly()),
  /** When the last message of each kind was made. */
  lastOfKind: v.pipe(v.array(v.object({ kind: id, atMs: instantMs })), v.readonly()),
  /** The newest messages, the oldest first. */
  messages: v.pipe(v.array(message), v.readonly()),
})

/** A webhook as the document of its access contains it. */
export type WebhookRecord = Readonly<v.InferOutput<typeof webhook>>
/** A message to the receiver of a webhook. */
export type WebhookMessage = Readonly<v.InferOutput<typeof message>>
