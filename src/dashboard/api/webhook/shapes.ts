import * as v from 'valibot'
import { count, described, instantMs, text } from '../shape-parts.js'

/** Longer texts are no URL that the configuration can permit. */
const URL_CHARS_MAX = 8_192

export const wanted = v.strictObject({
  url: described(
    v.pipe(text, v.maxLength(URL_CHARS_MAX, `must be at most ${URL_CHARS_MAX} characters`)),
    'An https URL without user name, password and fragment',
  ),
})

const delivery = v.object({
  messageId: described(text, 'The header `webhook-id` of every attempt'),
  kind: described(text, 'A kind of rule, the same with `.resolved`, or `test`'),
  createdAtMs: instantMs,
  state: v.picklist(['pending', 'delivered', 'failed']),
  attempts: count,
  nextAtMs: described(v.nullable(instantMs), 'The next attempt; null if there is none'),
  status: described(v.nullable(count), 'Status of the last answer; null without one'),
  problem: described(text, 'Why the last attempt failed; empty if it did not'),
})

const webhook = v.object({
  webhookId: text,
  url: text,
  createdAtMs: instantMs,
  goneAtMs: described(
    v.nullable(instantMs),
    'When the receiver answered 410 Gone, since when nothing is sent; null while it is on',
  ),
  deliveries: described(v.pipe(v.array(delivery), v.readonly()), 'The newest first'),
})

export const found = v.object({ webhook })

export const list = v.object({ webhooks: v.array(webhook) })

export const test = v.optional(
  v.strictObject({
    ruleId: described(v.optional(text), 'What this rule would send, with `test`: true'),
  }),
)

export const made = v.object({
  webhook,
  secret: described(text, 'The signing secret: `whsec_` and the key in Base64'),
})

export const revealed = v.object({ secret: text })

export const tested = v.object({
  status: described(v.nullable(count), 'Status of the answer; null without one'),
  problem: described(text, 'Why the test failed; empty if it did not'),
  elapsedMs: count,
})
