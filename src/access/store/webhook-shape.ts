import * as v from 'valibot'

const id = v.pipe(v.string(), v.nonEmpty(), v.maxLength(64))
const bytes = v.custom<Uint8Array>(value => value instanceof Uint8Array)
const count = v.pipe(v.number(), v.integer(), v.minValue(0))
/** Unix milliseconds. */
const instantMs = count

const message = v.object({
  /** The same at each attempt, so that a receiver recognises a repetition. */
  messageId: id,
  /** The kind of a rule, the same with `.resolved`, or `test`. */
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

/** A store of an older build has the kind, which is the id of the default rule of that kind. */
const byRule = <E extends v.ObjectEntries>(entries: E) =>
  v.pipe(
    v.object({ rule: v.optional(id), kind: v.optional(id), ...entries }),
    v.check(({ rule, kind }) => (rule ?? kind) !== undefined),
    v.transform(({ rule, kind = '', ...rest }) => ({ ...rest, rule: rule ?? kind })),
  )

const scope = byRule({
  network: v.nullable(id),
  location: v.nullable(id),
  /** When it was reported; absent in a store of an older build. */
  sinceMs: v.optional(instantMs),
})

/** A rule of the holder's. */
export const alertRule = v.object({
  ruleId: id,
  kind: id,
  isOn: v.boolean(),
  /** In the unit of its kind. */
  threshold: count,
  /** The time that is looked at; 0 if the kind has none. */
  windowMinutes: count,
  /** With fewer than this in that time the rule finds nothing; 0 if the kind has none. */
  countMin: count,
  /** Only if the share is twice that of the hour before. */
  onlyRising: v.boolean(),
  /** Calls of this method only; empty for all. */
  method: v.string(),
  /** Ids of the webhooks that it is sent to; null: every one. */
  webhooks: v.nullable(v.pipe(v.array(id), v.readonly())),
  /** Whether its end is sent, too. */
  sendsResolved: v.boolean(),
})

/** When a holder is alerted, and over which webhooks. */
export type AlertRule = Readonly<v.InferOutput<typeof alertRule>>

/** Where alerts of an access are sent, and what was and will be sent. */
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
  reported: v.pipe(v.array(scope), v.readonly()),
  /** When the last message of each rule was made. */
  lastOfKind: v.pipe(v.array(byRule({ atMs: instantMs })), v.readonly()),
  /** The newest messages, the oldest first. */
  messages: v.pipe(v.array(message), v.readonly()),
})

/** A webhook as the document of its access contains it. */
export type WebhookRecord = Readonly<v.InferOutput<typeof webhook>>
/** A message to the receiver of a webhook. */
export type WebhookMessage = Readonly<v.InferOutput<typeof message>>
