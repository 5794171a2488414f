import * as v from 'valibot'
import { mapLimits } from '../../shared/access-limits.js'

export const described = <S extends v.GenericSchema>(schema: S, description: string) =>
  v.pipe(schema, v.description(description))
export const text = v.string('must be a text')
export const count = v.pipe(v.number(), v.minValue(0))
export const instantMs = described(count, 'Unix milliseconds')

export const limits = v.object(mapLimits(() => count))

export const missing = v.optional(
  described(
    v.pipe(v.array(text), v.readonly()),
    'Machines of the cluster that did not answer in time and are not included',
  ),
)
