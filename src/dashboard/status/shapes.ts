import * as v from 'valibot'
import { count, described, instantMs, text } from '../api/shape-parts.js'

/** How a location is, in the words of people who do not run it. */
export const CONDITIONS = ['operational', 'degraded', 'down'] as const
export type Condition = (typeof CONDITIONS)[number]

const condition = described(
  v.picklist(CONDITIONS),
  '`degraded`: it serves late or incomplete data, or is restarting; `down`: it does not serve',
)

export const status = v.object({
  atMs: instantMs,
  sinceMs: described(instantMs, 'Where uptime and incidents begin'),
  locations: described(
    v.pipe(
      v.array(
        v.object({
          id: text,
          name: text,
          state: condition,
          networks: described(
            v.pipe(
              v.array(
                v.object({
                  id: text,
                  name: text,
                  slotsBehindMax: described(
                    v.nullable(count),
                    'At most so many slots behind the best location, as 0, 10, 100 or 1,000; null: more, or not known',
                  ),
                }),
              ),
              v.readonly(),
            ),
            'Those of the service',
          ),
          uptimePercent: described(count, 'Since `sinceMs`, rounded down to three decimals'),
        }),
      ),
      v.readonly(),
    ),
    'In the order of the configuration',
  ),
  incidents: described(
    v.pipe(
      v.array(
        v.object({
          location: text,
          state: condition,
          startedAtMs: instantMs,
          endedAtMs: described(v.nullable(instantMs), 'Null while it lasts'),
        }),
      ),
      v.readonly(),
    ),
    'The newest first, 100 at most',
  ),
})

/** What everyone may know of the service. */
export type Status = v.InferOutput<typeof status>
