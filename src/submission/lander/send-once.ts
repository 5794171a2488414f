import type { Answers, LanderKnowledge, LanderRequest } from '../link/messages.js'
import type { EngineAnswer } from '../relay/engine-answer.js'
import type { MayStart } from '../relay/relay-types.js'
import { LanderRecord, type LanderRecordParts } from './records.js'
import type { SentTransactions } from './sent-transactions.js'

export type OnceParts = LanderRecordParts & {
  /** Of all networks. */
  readonly sent: SentTransactions
}

type Parts = OnceParts & {
  readonly mayStart: MayStart
  /** Gets the record of a transaction that is sent. */
  readonly onRecord: (record: LanderRecord) => void
}

/** The words of the check that a transaction fails which no lane can carry. */
const NO_LANE = 'no lane can carry the transaction'

/** Sends a transaction and records it. The same one of the same access is sent once. */
export const sendOnce = async (
  request: LanderRequest,
  { mayStart, onRecord, ...parts }: Parts,
  send: (record: LanderRecord) => Promise<EngineAnswer>,
): Promise<Answers['forward']> => {
  const { body, from, network, signature = '', version } = request
  const may = mayStart(version)
  if (!(may === true || (await may))) return 'ended'
  const transaction = { accessId: from.accessId, network, signature, bytes: body }
  return parts.sent.run(transaction, async onFindings => {
    const onKnown = ({ findings = '' }: LanderKnowledge): void => onFindings(findings)
    const record = new LanderRecord(parts, request, onKnown)
    onRecord(record)
    const read = await send(record)
    const ended = read.outcome === 'invalid' ? { ...read, checks: NO_LANE } : read
    record.onAnswered(() => ended)
    return read
  })
}
