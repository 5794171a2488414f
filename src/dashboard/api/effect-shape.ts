import * as v from 'valibot'

const described = <S extends v.GenericSchema>(schema: S, text: string) =>
  v.pipe(schema, v.description(text))
const instantMs = v.pipe(v.number(), v.minValue(0))

/** How a change came into effect on the machines of a cluster. */
export const effect = v.object({
  revision: v.number(),
  deadAtMs: described(
    v.optional(instantMs),
    'Since when no machine lets anything succeed by the former state, in Unix milliseconds',
  ),
  deadByMs: described(v.optional(instantMs), 'In place of it with 202: when that will be so'),
  machines: described(
    v.array(
      v.object({
        id: v.string(),
        by: described(
          v.picklist(['confirmed', 'lease']),
          'Its own confirmation, or the end of its lease',
        ),
      }),
    ),
    'Machines of the location; of all locations for an access',
  ),
})

/** With the view of what was changed; absent on a machine by itself. */
export const effectEntry = { effect: v.optional(effect) }
