import { toCsvLine } from '../../http/csv.js'
import type { Missing } from '../answers.js'
import {
  SUBMISSIONS_MAX,
  type SubmissionPageView,
  type Submissions,
  type SubmissionSearch,
  type SubmissionView,
} from './shapes.js'

/** Bounds of one export. */
export type ExportBounds = {
  readonly exportMax: number
  readonly exportMs: number
}

const COLUMNS = [
  'submission',
  'received',
  'route',
  'network',
  'location',
  'state',
  'reason',
  'signature',
  'slot',
  'error',
  'bundle',
  'answered',
  'findings',
  'transaction',
  'index',
  'delaySlots',
  'delayMs',
  'receivedSlot',
  'tips',
  'lanes',
] as const

const toInstant = (atMs: number | null): string =>
  atMs === null ? '' : new Date(atMs).toISOString()

/** One line for each transaction, or for a submission without any that could be read. */
const toLines = (submission: SubmissionView): string => {
  const { transactions, ...rest } = submission
  const nothing = {
    ...{ signature: '', state: '', slot: null, index: null },
    ...{ delaySlots: null, delayMs: null, error: null, tips: [] },
  }
  return (transactions.length === 0 ? [nothing] : transactions)
    .map(({ delayMs, delaySlots, error, index, signature, slot, state, tips }) =>
      toCsvLine([
        rest.submissionId,
        toInstant(rest.receivedAtMs),
        rest.route,
        rest.network,
        rest.location,
        rest.state,
        rest.reason ?? '',
        signature,
        slot ?? '',
        error ?? '',
        rest.bundleId ?? '',
        toInstant(rest.answeredAtMs),
        rest.findings ?? '',
        state,
        index ?? '',
        delaySlots ?? '',
        delayMs ?? '',
        rest.receivedSlot ?? '',
        tips.map(({ account, lamports }) => `${account}:${lamports}`).join(' '),
        rest.lanes.map(({ lane, outcome }) => `${lane}:${outcome}`).join(' '),
      ]),
    )
    .join('')
}

/** A CSV file (RFC 4180) of submissions. */
export const toCsv = (submissions: readonly SubmissionView[]): string =>
  toCsvLine(COLUMNS) + submissions.map(toLines).join('')

/** All that a search finds, within the bounds; `next` says where it continues. */
export const collect = async (
  submissions: Submissions,
  search: Omit<SubmissionSearch, 'limit'>,
  locations: readonly string[],
  { exportMax, exportMs }: ExportBounds,
): Promise<SubmissionPageView & Missing> => {
  const endMs = performance.now() + exportMs
  const found: SubmissionView[] = []
  const missing = new Set<string>()
  let { before } = search
  for (;;) {
    const limit = Math.min(SUBMISSIONS_MAX, exportMax - found.length)
    const page = await submissions({ ...search, before, limit }, locations)
    found.push(...page.submissions)
    for (const id of page.missing ?? []) missing.add(id)
    const isOver = found.length >= exportMax || performance.now() >= endMs
    if (page.next === null || isOver)
      return {
        submissions: found,
        next: page.next,
        ...(missing.size === 0 ? {} : { missing: [...missing].toSorted() }),
      }
    before = page.next
  }
}
