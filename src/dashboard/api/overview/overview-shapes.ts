import * as v from 'valibot'
import { locations } from '../shapes.js'

const described = <S extends v.GenericSchema>(schema: S, text: string) =>
  v.pipe(schema, v.description(text))
const text = v.string('must be a text')
const count = v.pipe(v.number(), v.minValue(0))

const counts = v.object({
  requests: count,
  errors: count,
  rateLimited: count,
  refused: count,
})

const scope = {
  accessId: text,
  network: text,
  location: text,
  hour: described(counts, 'Of the last hour'),
  day: described(counts, 'Of the last 24 hours'),
  hours: described(
    v.pipe(v.array(count), v.readonly()),
    'Requests in each of the last 24 hours, the oldest first',
  ),
}

/** What the machines of a cluster answer to each other. */
export const traffic = v.object({ scopes: v.pipe(v.array(v.object(scope)), v.readonly()) })

/** All scopes of all accesses of a person. */
export const overview = v.object({
  scopes: v.array(
    v.object({
      ...scope,
      tail: described(v.nullable(text), 'The last characters of its token; null: it has none'),
    }),
  ),
  locations: locations.entries.locations,
  steps: described(
    v.object({
      token: described(v.boolean(), 'An access has a token'),
      call: described(v.boolean(), 'A request was made in the last 30 days'),
      restrict: described(v.boolean(), 'A token is restricted to an address'),
      webhook: described(v.boolean(), 'An access has a webhook'),
      land: described(v.boolean(), 'A submission landed in the last 30 days'),
    }),
    'What the person has done, with any of the accesses',
  ),
  missing: v.optional(
    described(
      v.pipe(v.array(text), v.readonly()),
      'Machines of the cluster that did not answer in time and are not included',
    ),
  ),
})

export const labelProblem = 'must be one line of at most 100 characters, without marks of direction'

export const label = v.strictObject({
  label: described(
    v.pipe(
      v.string(labelProblem),
      v.maxLength(100, labelProblem),
      // Without control and line characters. JSON Schema has no classes of Unicode.
      v.regex(/^[ -~\u00a0-\u2027\u202f-\uffff]*$/, labelProblem),
    ),
    'What the holder calls the access; blank: nothing',
  ),
})

export type ScopeTraffic = v.InferOutput<typeof traffic>['scopes'][number]
