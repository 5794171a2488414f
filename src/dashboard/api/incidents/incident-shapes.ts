import * as v from 'valibot'

const described = <S extends v.GenericSchema>(schema: S, text: string) =>
  v.pipe(schema, v.description(text))
const text = v.string('must be a text')
const instantMs = described(v.pipe(v.number(), v.minValue(0)), 'Unix milliseconds')

/** Incidents, newest first. */
export const incidents = v.object({
  incidents: v.array(
    v.object({
      id: text,
      location: described(v.nullable(text), 'Null where it concerns no location'),
      machine: described(v.nullable(text), 'Of the cluster; null on a machine by itself'),
      reasons: described(
        v.pipe(v.array(text), v.readonly()),
        'States that `/health` reported meanwhile, or `process-restarted`',
      ),
      detail: described(text, 'Which process ended and how; empty for a state'),
      startedAtMs: instantMs,
      endedAtMs: described(v.nullable(instantMs), 'Null while it lasts'),
    }),
  ),
})

export type IncidentView = v.InferOutput<typeof incidents>['incidents'][number]
