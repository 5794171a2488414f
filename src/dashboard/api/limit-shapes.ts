import * as v from 'valibot'
import { WARNING_KINDS } from '../warnings/kinds.js'
import { count, described, instantMs, limits, missing, text } from './shape-parts.js'

const peak = v.object({
  perSecond: count,
  atMs: instantMs,
})

export const accessUsage = v.object({
  limits,
  requestsPerSecond: described(count, 'Mean of the last minute'),
  requestsLastSecond: described(count, 'Charged in the last second'),
  requestsInFlight: count,
  sockets: count,
  subscriptions: count,
  subscriptionsOfSocket: described(count, 'Of the WebSocket that has the most'),
  peak: described(
    v.nullable(peak),
    'The second with the most requests of the last 24 hours; null without any. In a cluster the peaks of the machines in the same quarter-hour, added: not less than the real one',
  ),
  refused: described(limits, 'Refused by each limit in the present hour and the 24 before'),
  missing,
})

export const warnings = v.object({
  warnings: v.pipe(
    v.array(
      v.object({
        rule: described(text, 'Id of the alert rule that found it'),
        kind: v.picklist(WARNING_KINDS),
        network: described(v.nullable(text), 'Null where it is about the whole access'),
        location: v.nullable(text),
        values: described(v.record(text, v.union([count, text])), 'What was measured, by kind'),
      }),
    ),
    v.readonly(),
  ),
  missing,
})
