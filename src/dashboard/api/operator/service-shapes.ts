import * as v from 'valibot'
import { PERIOD_FIGURES } from '../../../usage/schema.js'
import { count, described, instantMs, limits, missing, performance, text } from '../shape-parts.js'
import { hasTimes, rangeUsage, times, timesProblem } from '../usage/shapes.js'

const { overLimit: _overLimit, ...ranged } = rangeUsage.entries

/** The service as a whole in a time. */
export const serviceUsage = v.object({
  ...ranged,
  overLimit: described(limits, 'Requests over each limit of their access, in the time'),
  submissions: described(
    v.object({
      fromMs: instantMs,
      untilMs: instantMs,
      ...performance,
      tippedLamports: described(count, 'Tips of those that landed'),
    }),
    'Those that have ended, in the hours of the time, by their receipt',
  ),
})

const BY = PERIOD_FIGURES.filter(name => name !== 'refused')
const afterProblem = 'must be `next` of the page before'

export const topQuery = v.pipe(
  v.strictObject({
    ...times,
    by: described(
      v.optional(v.picklist(BY, `must be one of ${BY.join(', ')}`), 'requests'),
      'What they are ordered by',
    ),
    after: described(
      v.optional(
        v.pipe(v.string(), v.regex(/^(?:\d{1,15}-[A-Za-z0-9_()-]{1,64})?$/, afterProblem)),
        '',
      ),
      '`next` of the page before',
    ),
  }),
  v.check(asked => hasTimes(asked), timesProblem),
)

export const topAccesses = v.object({
  fromMs: described(
    instantMs,
    'The start of the first hour; of more than 8 days, of the first day',
  ),
  untilMs: described(instantMs, 'The end of the last one'),
  accesses: v.pipe(
    v.array(
      v.object({
        accessId: described(text, 'Or `(other)`: see docs/access.md'),
        holder: described(
          v.nullable(
            v.object({
              subject: text,
              product: text,
              label: described(text, "The operator's name for it; empty: none"),
              state: v.picklist(['active', 'ended', 'upcoming']),
            }),
          ),
          'Null of an access that there is no more',
        ),
        requests: count,
        errors: count,
        rateLimited: described(count, 'Answered 429'),
        refused: described(count, 'Answered 401 or 403'),
        overLimit: described(limits, 'Refused by each limit'),
        submissions: described(v.object(performance), 'Those that have ended'),
      }),
    ),
    v.readonly(),
  ),
  next: described(v.nullable(text), '`after` of the next page; null: no more'),
  missing,
})
