import * as v from 'valibot'
import { LANE_ANSWERS } from '../../../shared/submission-states.js'
import * as adminShapes from '../admin-shapes.js'
import { incidents } from '../incidents/incident-shapes.js'
import { count, hoursQueryOf, instantMs, missing, performance } from '../shape-parts.js'
import { locations, machines } from '../shapes.js'

const described = <S extends v.GenericSchema>(schema: S, text: string) =>
  v.pipe(schema, v.description(text))
const text = v.string('must be a text')

const textMax = (max: number) => {
  const problem = `must be at most ${max} characters`
  return v.optional(v.pipe(v.string(problem), v.maxLength(max, problem)), '')
}

export const accessQuery = v.strictObject({
  find: described(
    textMax(255),
    'In the id, the subject, the product, a name or an e-mail address, in any case',
  ),
  after: described(textMax(64), 'Start after this access id: `next` of the previous response'),
})

export const { auditQuery } = adminShapes

export const accesses = v.object({
  ...adminShapes.accesses.entries,
  accesses: v.array(
    v.object({
      ...adminShapes.access.entries,
      email: described(
        v.nullable(text),
        'Verified address of its holder; null if they are not signed in at this machine',
      ),
    }),
  ),
})

export const audit = v.object({
  ...adminShapes.audit.entries,
  entries: v.pipe(
    v.array(
      v.object({
        ...adminShapes.auditEntry.entries,
        machine: described(
          v.optional(text),
          'The machine of the cluster that wrote it, by its own clock',
        ),
      }),
    ),
    v.readonly(),
  ),
  missing,
})

export const laneQuery = hoursQueryOf(['24', '168', '720'])

const laneStates = v.pipe(
  v.array(
    v.object({
      network: text,
      lane: text,
      state: described(
        v.picklist(['up', 'down', 'throttled']),
        'down: its peer was not reached, or did not answer; throttled: it had too much',
      ),
      sinceMs: described(instantMs, 'When it was seen first, by this sender'),
      perSecond: described(v.number(), 'Transactions that ended, over the last ten seconds'),
      perSecondMax: described(count, 'Transactions that may be sent'),
      inFlight: described(count, 'Transactions that wait for their answers'),
      last: described(
        v.nullable(
          v.object({
            outcome: v.picklist(LANE_ANSWERS),
            atMs: instantMs,
          }),
        ),
        'What the last one came to; null before the first',
      ),
    }),
  ),
  v.readonly(),
)

export const lanes = v.object({
  fromMs: instantMs,
  untilMs: instantMs,
  states: described(
    laneStates,
    'How each lane of this machine is; empty if no sender has reported it lately',
  ),
  lanes: described(
    v.pipe(
      v.array(
        v.object({
          network: text,
          lane: described(
            v.nullable(text),
            'What alone had them; null: several lanes of a race, so which landed them is unknown',
          ),
          startMs: count,
          ...performance,
          tips: v.pipe(
            v.array(
              v.object({
                tipFromLamports: count,
                tipUntilLamports: described(v.nullable(count), 'Null of the highest tips'),
                ...performance,
              }),
            ),
            v.readonly(),
          ),
        }),
      ),
      v.readonly(),
    ),
    'In the order of networks and lanes',
  ),
  missing,
})

export const nodes = v.object({
  locations: locations.entries.locations,
  machines: described(
    v.nullable(machines.entries.machines),
    'Of the cluster; null on a machine by itself',
  ),
})

export const incidentQuery = v.strictObject({
  before: described(textMax(32), 'Only what began before this incident: `next` of the previous'),
})

export const incidentPage = v.object({
  ...incidents.entries,
  next: described(v.nullable(text), '`before` of the next page; null: no more'),
})
