import * as v from 'valibot'
import { API_KEY_DAYS_MAX, API_KEY_SCOPES } from '../../../access/store/key-shape.js'
import { described, instantMs, text } from '../shape-parts.js'
import { label } from '../overview/overview-shapes.js'

const scopesProblem = `must have at least one of ${API_KEY_SCOPES.join(', ')}, each once`

const scope = v.picklist(API_KEY_SCOPES, scopesProblem)

const endProblem = 'must be Unix milliseconds'

export const wanted = v.strictObject({
  label: described(label.entries.label, 'What the holder calls it; not blank'),
  scopes: described(
    v.pipe(
      v.array(scope, scopesProblem),
      v.minLength(1, scopesProblem),
      v.maxLength(API_KEY_SCOPES.length, scopesProblem),
      v.check(scopes => new Set(scopes).size === scopes.length, scopesProblem),
    ),
    'What requests with it may do',
  ),
  validUntilMs: described(
    v.pipe(v.number(endProblem), v.safeInteger(endProblem), v.minValue(0, endProblem)),
    `When it ends, in Unix milliseconds: in the future, and within ${API_KEY_DAYS_MAX} days`,
  ),
})

const key = {
  keyId: described(text, 'Names it in lists and in the audit log; not a secret'),
  label: text,
  tail: described(text, 'Its last four characters'),
  scopes: v.pipe(v.array(text), v.readonly()),
  createdAtMs: instantMs,
  validUntilMs: instantMs,
  lastUsedMs: described(v.nullable(instantMs), 'To about an hour; null: not used yet'),
}

export const keys = v.object({
  keys: described(v.array(v.object(key)), 'In the order in which they were made'),
})

export const made = v.object({
  key: v.object(key),
  secret: described(text, 'The key; it is not shown again'),
})
