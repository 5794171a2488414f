import * as v from 'valibot'
import { mapLimits } from '../../shared/access-limits.js'
import {
  LANE_FIGURE_NAMES,
  LANE_FIGURES,
  METHOD_FIGURE_NAMES,
  METHOD_FIGURES,
  type LaneFigure,
  type MethodFigure,
} from '../../usage/schema.js'

export const described = <S extends v.GenericSchema>(schema: S, description: string) =>
  v.pipe(schema, v.description(description))
export const text = v.string('must be a text')
export const count = v.pipe(v.number(), v.minValue(0))
export const instantMs = described(count, 'Unix milliseconds')

const whole = v.pipe(v.number(), v.integer(), v.minValue(0))
const figure = (name: MethodFigure) => described(whole, METHOD_FIGURES[name])

/** What is counted of a method. */
export const methodFigures = Object.fromEntries(
  METHOD_FIGURE_NAMES.map(name => [name, figure(name)]),
) as Record<MethodFigure, ReturnType<typeof figure>>

const laneFigure = (name: LaneFigure) => described(whole, LANE_FIGURES[name])

/** What is counted of submissions by lane. */
const laneFigures = Object.fromEntries(
  LANE_FIGURE_NAMES.map(name => [name, laneFigure(name)]),
) as Record<LaneFigure, ReturnType<typeof laneFigure>>

export const limits = v.object(mapLimits(() => count))

export const missing = v.optional(
  described(
    v.pipe(v.array(text), v.readonly()),
    'Machines of the cluster that did not answer in time and are not included',
  ),
)

/** An integer in a query, both bounds included. */
export const queryInteger = (min: number, max: number) => {
  const problem = `must be an integer from ${min} to ${max}`
  return v.pipe(
    v.string(problem),
    v.regex(/^(?:0|[1-9]\d{0,14})$/, problem),
    v.transform(Number),
    v.number(),
    v.integer(),
    v.minValue(min, problem),
    v.maxValue(max, problem),
  )
}

/** A query of one of these ranges. */
export const hoursQueryOf = <const H extends readonly string[]>(all: H) =>
  v.strictObject({
    hours: described(
      v.optional(v.picklist(all, `must be one of ${all.join(', ')}`), '24'),
      'The last so many hours, with this one',
    ),
  })

const shares = (description: string) =>
  described(
    v.nullable(v.object({ p50: count, p90: count, p99: count })),
    `${description}; null where none landed. At most a quarter too high`,
  )

/** How submissions went. */
export const performance = {
  sent: described(count, 'All of the following'),
  ...laneFigures,
  landingRate: described(
    v.nullable(count),
    'Share of those landed whose end is known; null where none is',
  ),
  delaySlots: shares('Slots from receipt to block of those that landed'),
  delayMs: shares('The same in milliseconds'),
}
