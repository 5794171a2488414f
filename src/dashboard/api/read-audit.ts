import type { InferOutput } from 'valibot'
import type { AuditLog } from '../../access/audit/audit-log.js'
import { ok, type Answer } from '../http/route.js'
import type { auditQuery } from './admin-shapes.js'

/** Entries of the audit log, newest first, and where the next page begins. */
export const readAudit = (
  auditLog: Pick<AuditLog, 'read'>,
  { subject, access, before, limit }: InferOutput<typeof auditQuery>,
  nowMs: number,
): Answer => {
  // The newest entry can be of this millisecond.
  const beforeMs = before ?? nowMs + 1
  const entries = auditLog.read({ by: subject, accessId: access, beforeMs, limit })
  const next = entries.length === limit ? entries.at(-1)?.atMs : undefined
  return ok({ entries, next: next ?? null })
}
