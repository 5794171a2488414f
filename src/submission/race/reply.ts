import { RpcError } from '../../shared/errors.js'
import type { SubmissionReply } from '../failure.js'
import type { RaceForm } from '../lander/lander-types.js'
import { sendError } from '../lander/send-answer.js'
import type { EngineAnswer } from '../relay/engine-answer.js'
import type { LaneReport, LaneReports } from '../store/submission.js'

/** What became of one lane, in a word. */
const wordOf = ({ leftOut, outcome }: LaneReport): string =>
  leftOut === undefined ? outcome : `left-out-${leftOut}`

/** `X-Race-Lanes`: each lane with what became of it, as in `fra:accepted;nyc:left-out-tip`. */
const formatLanes = (lanes: LaneReports): string =>
  lanes.map(report => `${report.lane}:${wordOf(report)}`).join(';')

/** The error of a race that no lane has accepted. */
const errorOf = (outcome: EngineAnswer['outcome'], lanes: LaneReports): RpcError => {
  switch (outcome) {
    case 'invalid':
      return new RpcError('noLane', undefined, { lanes })
    case 'refused':
      return new RpcError('lanesRefused', undefined, { lanes })
    case 'full':
      return new RpcError('lanesFull', undefined, { lanes })
    case 'unreachable':
      return new RpcError('upstreamUnreachable', undefined, { lanes })
    default:
      return new RpcError('outcomeUnknown', undefined, { lanes })
  }
}

/** The reply to `/race`. What was sent by another route before has no lanes. */
export const toRaceReply = (
  { outcome, lanes = [] }: EngineAnswer,
  signature: string,
  { isJson }: RaceForm,
): SubmissionReply => {
  const headers = { 'X-Race-Lanes': formatLanes(lanes) }
  if (outcome !== 'accepted') {
    const { reply, ...counted } = sendError(errorOf(outcome, lanes))
    return { ...counted, reply: { ...reply, headers: { ...reply.headers, ...headers } } }
  }
  const reply = isJson
    ? { contentType: 'application/json', body: JSON.stringify({ result: signature, lanes }) }
    : { contentType: 'text/plain', body: signature }
  return { reply: { status: 200, ...reply, headers } }
}
