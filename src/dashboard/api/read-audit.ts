import * as v from 'valibot'
import type { AuditEntry, AuditLog } from '../../access/audit/audit-log.js'
import { auditEntry, auditQuery } from './admin-shapes.js'

/** Which entries are read, and how many. */
export type AuditSearch = v.InferOutput<typeof auditQuery>

export type AuditPage = {
  /** Newest first. */
  readonly entries: readonly AuditEntry[]
  /** `before` of the next page, in Unix milliseconds; null: no more. */
  readonly next: number | null
}

/** Entries of the audit log of this machine, and where the next page begins. */
export const readAudit = async (
  auditLog: Pick<AuditLog, 'read'>,
  { subject, access, before, limit }: AuditSearch,
  nowMs: number,
): Promise<AuditPage> => {
  // The newest entry can be of this millisecond.
  const beforeMs = before ?? nowMs + 1
  const entries = await auditLog.read({ by: subject, accessId: access, beforeMs, limit })
  const next = entries.length === limit ? entries.at(-1)?.atMs : undefined
  return { entries, next: next ?? null }
}

/** The search of what another machine sent; undefined if it is none. */
export const parseAuditSearch = (given: unknown): AuditSearch | undefined => {
  const found = v.safeParse(auditQuery, given)
  return found.success ? found.output : undefined
}

/** Levels of the request of an entry. None of the admin API has more than four. */
const REQUEST_DEPTH_MAX = 16

/** Whether a value that another machine sent has few levels: it is written as JSON again. */
const isFlat = (value: unknown, depth = REQUEST_DEPTH_MAX): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (depth > 0 && Object.values(value).every(one => isFlat(one, depth - 1)))

/** Times that a page can begin before: those of 15 digits. */
const BEFORE_MAX_MS = 1e15

/** What another machine may answer to a search: at most as many entries, and as old. */
export const auditAnswerOf = ({ before = BEFORE_MAX_MS, limit }: AuditSearch) =>
  v.object({
    entries: v.pipe(
      v.array(auditEntry),
      v.maxLength(limit),
      v.check(entries => entries.every(({ atMs }) => atMs < before)),
      v.check(entries => entries.every(({ request }) => isFlat(request))),
    ),
  })

export type AuditAnswer = v.InferOutput<ReturnType<typeof auditAnswerOf>>
