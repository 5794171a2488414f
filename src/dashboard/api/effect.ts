import type * as v from 'valibot'
import type { ChangeEffect } from '../../access/service.js'
import type { Answer, AnswerDoc } from '../http/route.js'
import { effect } from './effect-shape.js'

type EffectView = v.InferOutput<typeof effect>

const toView = ({ atMs, isPending, machines, revision }: ChangeEffect): EffectView => ({
  revision,
  ...(isPending ? { deadByMs: atMs } : { deadAtMs: atMs }),
  machines: [...machines],
})

const statusOf = (found: ChangeEffect): 200 | 202 => (found.isPending ? 202 : 200)

/** The answer to a change, with how it came into effect in a cluster. */
export const answerChange = (body: object, found: ChangeEffect | undefined): Answer =>
  found === undefined
    ? { status: 200, body }
    : { status: statusOf(found), body: { ...body, effect: toView(found) } }

/** The answer to a removal, which has nothing else to show. */
export const answerRemoval = (found: ChangeEffect | undefined): Answer =>
  found === undefined ? { status: 204 } : { status: statusOf(found), body: toView(found) }

const PENDING = 'Stored; a machine has not confirmed it yet, and answers nothing from deadByMs on'

/** The answers of a change. */
export const changeAnswers = (description: string, body: v.GenericSchema) =>
  ({ 200: { description, body }, 202: { description: PENDING, body } }) satisfies Record<
    number,
    AnswerDoc
  >

/** The answers of a removal. */
export const removalAnswers = (description: string) =>
  ({
    200: { description: `${description}, on every machine`, body: effect },
    202: { description: PENDING, body: effect },
    204: { description: `${description}; of a machine by itself` },
  }) satisfies Record<number, AnswerDoc>
