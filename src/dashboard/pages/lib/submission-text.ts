import type { LaneOutcome, LeftOutReason } from '../../../shared/submission-states.js'
import { formatPercent } from './format.js'
import type { Access, Submission, SubmissionSummary } from './wire.js'

type State = Submission['state']

/** Badge, name and meaning of each state of a submission. */
export const STATES: Readonly<Record<State, { tone: string; name: string; meaning: string }>> = {
  received: { tone: 'is-none', name: 'Received', meaning: 'Not sent yet' },
  written: { tone: 'is-none', name: 'Sent', meaning: 'Not answered yet' },
  accepted: {
    tone: 'is-none',
    name: 'Accepted',
    meaning: 'Not seen in a block; it may still land',
  },
  'in-block': { tone: 'is-active', name: 'In a block', meaning: 'The block is not final yet' },
  final: { tone: 'is-active', name: 'Final', meaning: 'In a final block' },
  'partly-landed': {
    tone: 'is-upcoming',
    name: 'Partly landed',
    meaning: 'Some of its transactions are in a block',
  },
  failed: { tone: 'is-ended', name: 'Failed', meaning: 'In a block, with an error' },
  expired: {
    tone: 'is-ended',
    name: 'Expired',
    meaning: 'Not in a block, and its blockhash is too old for one',
  },
  replaced: {
    tone: 'is-ended',
    name: 'Replaced',
    meaning: 'Its durable nonce was advanced without it',
  },
  unseen: {
    tone: 'is-upcoming',
    name: 'Not seen',
    meaning: 'The index does not know if it landed',
  },
  refused: { tone: 'is-ended', name: 'Refused', meaning: 'By the upstream' },
  invalid: { tone: 'is-ended', name: 'Rejected by Slotline', meaning: 'Nothing was sent' },
  full: { tone: 'is-upcoming', name: 'No capacity', meaning: 'Send it again' },
  unreachable: { tone: 'is-ended', name: 'Not sent', meaning: 'The upstream could not be reached' },
  unknown: {
    tone: 'is-upcoming',
    name: 'Outcome unknown',
    meaning: 'Not seen in a block; it may still land',
  },
}

const finality = (state: Submission['transactions'][number]['state']): string =>
  state === 'in-block' ? ', not final yet' : ''

/** How long it took; an empty text where that is not known. */
const delayText = (slots: number | null, ms: number | null): string => {
  const parts = [
    ...(slots === null ? [] : [slots === 1 ? '1 slot' : `${slots} slots`]),
    ...(ms === null ? [] : [`${(ms / 1_000).toFixed(2)} s`]),
  ]
  return parts.length === 0 ? '' : `, after ${parts.join(', ')}`
}

/** What is known of one transaction of a submission. */
export const transactionText = (
  { delayMs, delaySlots, slot, error, state: own }: Submission['transactions'][number],
  state: State,
  formatSlot: (slot: number) => string,
): string => {
  if (slot !== null)
    return error === null
      ? `Landed in slot ${formatSlot(slot)}${finality(own)}${delayText(delaySlots, delayMs)}`
      : `Failed in slot ${formatSlot(slot)}${finality(own)}: ${error}`
  if (own === 'expired') return 'Not in a block, expired'
  if (own === 'replaced') return 'Not in a block, its nonce was advanced'
  switch (state) {
    case 'invalid':
    case 'full':
    case 'unreachable':
      return 'Not sent'
    case 'accepted':
    case 'received':
    case 'written':
    case 'unknown':
      return 'Not seen yet'
    default:
      return 'Not seen in a block'
  }
}

/** What is known of a submission, in one line. */
export const submissionText = (
  { reason, state, transactions }: Submission,
  formatSlot: (slot: number) => string,
): string => {
  const [first, ...others] = transactions
  const landed = transactions.filter(({ slot, error }) => slot !== null && error === null).length
  const text = reason ?? (first && transactionText(first, state, formatSlot)) ?? ''
  return others.length === 0 ? text : `${landed} of ${transactions.length} landed. ${text}`
}

const OUTCOMES: Readonly<Record<LaneOutcome, string>> = {
  'left-out': 'not used',
  pending: 'not answered yet',
  accepted: 'accepted',
  written: 'sent; this lane gives no answers',
  refused: 'refused',
  full: 'no capacity',
  unreachable: 'could not be reached; nothing was sent',
  unknown: 'sent, but no complete answer came',
}

const LEFT_OUT: Readonly<Record<LeftOutReason, string>> = {
  protection: 'it does not protect transactions, as was asked',
  size: 'the transaction is longer than it takes',
  tip: 'its tip accounts are paid less than its floor',
  down: 'it is not connected',
  rate: 'its rate is used up',
}

/** What became of a submission on one lane. */
export const laneText = (
  { answeredAfterMs, leftOut, outcome, status, words, writtenAfterMs }: Submission['lanes'][number],
  formatDelay: (ms: number) => string,
): string =>
  [
    leftOut === null ? OUTCOMES[outcome] : `${OUTCOMES[outcome]}: ${LEFT_OUT[leftOut]}`,
    ...(writtenAfterMs === null ? [] : [`sent after ${formatDelay(writtenAfterMs)}`]),
    ...(answeredAfterMs === null ? [] : [`answered after ${formatDelay(answeredAfterMs)}`]),
    ...(status === null ? [] : [`HTTP status ${status}`]),
    ...(words.trim() === '' ? [] : [words.trim()]),
  ].join(', ')

/** The explorer's page of a transaction. */
export const explorerLink = (url: string, signature: string): string =>
  url.replace('{signature}', encodeURIComponent(signature))

/** What a person looks for; an empty text is any. */
export type SubmissionFilters = {
  readonly route: string
  readonly state: string
  readonly signature: string
  readonly location: string
}

export const NO_FILTERS: SubmissionFilters = {
  route: '',
  state: '',
  signature: '',
  location: '',
}

/** The filters of a URL; what is not among them is left out. */
export const toFilters = (query: Readonly<Record<string, string>>): SubmissionFilters => ({
  ...NO_FILTERS,
  ...Object.fromEntries(Object.entries(query).filter(([name]) => Object.hasOwn(NO_FILTERS, name))),
})

/** The filters that are set, as a query. */
export const toFilterQuery = (filters: SubmissionFilters): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== ''))

/** Whether a text can be a signature. */
export const isSignature = (text: string): boolean => /^[1-9A-HJ-NP-Za-km-z]{64,88}$/.test(text)

/** A column of the chart. */
export type SummaryColumn = {
  readonly startMs: number
  readonly sent: number
  readonly landed: number
}

/** The part that landed of those whose end is known; the API has it in four digits. */
export const rateText = ({
  landed,
  sent,
  unseen,
}: Readonly<Record<'landed' | 'sent' | 'unseen', number>>): string =>
  sent === unseen ? '–' : formatPercent(landed / (sent - unseen))

/** The name of a location; its id if the access has it no longer. */
export const locationName = (id: string, locations: Access['locations']): string =>
  locations.find(one => one.id === id)?.name ?? id

/** The columns of the chart, oldest first: the answer leaves out periods without submissions. */
export const columnsOf = (
  { fromMs, untilMs, periods }: Pick<SubmissionSummary, 'fromMs' | 'untilMs' | 'periods'>,
  stepMs: number,
): readonly SummaryColumn[] => {
  const known = new Map(periods.map(period => [period.startMs, period]))
  return Array.from({ length: Math.ceil((untilMs - fromMs) / stepMs) }, (_, index) => {
    const startMs = fromMs + index * stepMs
    const { sent = 0, landed = 0 } = known.get(startMs) ?? {}
    return { startMs, sent, landed }
  })
}

/** Times of the page as the list of submissions takes them. */
export const toListTimes = ({
  from,
  until,
  ...others
}: Readonly<Record<string, string>>): Readonly<Record<string, string>> => ({
  ...others,
  ...(from !== undefined && { fromMs: from }),
  ...(until !== undefined && { untilMs: until }),
})

/** Lamports in SOL, all nine places where they are needed. */
export const formatSol = (lamports: number): string =>
  (lamports / 1e9).toLocaleString('en-US', { maximumFractionDigits: 9 })
