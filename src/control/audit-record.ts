import type { AuditEntry, AuditLog } from '../access/audit/audit-log.js'
import type { Log } from '../shared/log.js'

/** Records an entry of a change that is in effect: where it cannot be stored, the log has it. */
export const createAuditRecord =
  (auditLog: AuditLog, log: Log) =>
  (entry: Omit<AuditEntry, 'atMs'>): void => {
    try {
      auditLog.record(entry)
    } catch (error) {
      log.error({ err: error, entry }, 'an entry of the audit log was not stored')
    }
  }
