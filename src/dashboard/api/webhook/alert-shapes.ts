import * as v from 'valibot'
import { WEBHOOKS_MAX } from '../../../access/webhooks/bounds.js'
import { RULES_MAX, WARNING_KINDS } from '../../warnings/kinds.js'
import { described, text } from '../shape-parts.js'

const ID = /^[A-Za-z0-9_-]{1,64}$/
const id = v.pipe(text, v.regex(ID, 'must be an id'))
const METHOD = /^[A-Za-z0-9_]{0,64}$/
const problem = 'must be an integer of 0 or more'
const whole = v.pipe(v.number(problem), v.integer(problem), v.minValue(0, problem))
const flag = v.boolean('must be true or false')

/** Thresholds are also checked against those of the kind. */
const wanted = {
  kind: v.picklist(WARNING_KINDS, 'must be a kind of rule'),
  isOn: flag,
  threshold: described(
    whole,
    'In percent; `p99-high` in milliseconds, `location-behind` in slots, `rental-ending` in days',
  ),
  windowMinutes: described(
    v.optional(whole),
    'The time that is looked at: 5, 15, 30 or 60 minutes, of `landing-rate-low` 60, 360 or 1,440; 0 of the other kinds',
  ),
  countMin: described(
    v.optional(whole),
    'With fewer failed requests, calls or submissions in that time it finds nothing',
  ),
  onlyRising: described(
    v.optional(flag, false),
    '`errors-rising`: only with twice the share of the hour before',
  ),
  method: described(
    v.optional(v.pipe(text, v.regex(METHOD, 'must be the name of a method')), ''),
    '`p99-high`: calls of this method; empty for all',
  ),
  webhooks: described(
    v.optional(v.nullable(v.pipe(v.array(id), v.maxLength(WEBHOOKS_MAX), v.readonly())), null),
    'Ids of the webhooks that it is sent to; null: every one',
  ),
  sendsResolved: described(v.optional(flag, false), 'Whether its end is sent, too'),
}

export const wantedRules = v.strictObject({
  rules: v.pipe(
    v.array(
      v.strictObject({
        ruleId: described(v.optional(id), 'Of a rule that is changed; a new one gets an id'),
        ...wanted,
      }),
      'must be a list',
    ),
    v.maxLength(RULES_MAX, `must be at most ${RULES_MAX} rules`),
    v.readonly(),
  ),
})

export const rules = v.object({
  rules: v.pipe(
    v.array(
      v.object({
        ruleId: text,
        ...wanted,
        windowMinutes: whole,
        countMin: whole,
        onlyRising: flag,
        method: text,
        webhooks: v.nullable(v.pipe(v.array(text), v.readonly())),
        sendsResolved: flag,
      }),
    ),
    v.readonly(),
  ),
})

export type WantedRule = v.InferOutput<typeof wantedRules>['rules'][number]
