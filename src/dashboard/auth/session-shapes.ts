import * as v from 'valibot'

const described = <S extends v.GenericSchema>(schema: S, text: string) =>
  v.pipe(schema, v.description(text))
const text = v.string('must be a text')
const instantMs = described(v.pipe(v.number(), v.minValue(0)), 'Unix milliseconds')

/** The sessions of a person. */
export const sessions = v.object({
  sessions: v.array(
    v.object({
      sessionId: described(text, 'Names it in this list; not the id that the browser has'),
      createdAtMs: instantMs,
      seenAtMs: described(instantMs, 'Last use, to about a minute'),
      expiresAtMs: described(instantMs, 'When it ends if it is not used'),
      address: described(text, 'Of the client at the last use; empty if unknown'),
      browser: described(text, 'Browser and system at the sign-in; empty if unknown'),
      isCurrent: described(v.boolean(), 'Whether this request belongs to it'),
    }),
  ),
})

/** How many sessions were ended. */
export const endedSessions = v.object({ ended: v.pipe(v.number(), v.integer(), v.minValue(0)) })
