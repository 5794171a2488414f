import type { AuditEntry, AuditLog } from '../../access/audit/audit-log.js'
import type { ResealState } from '../../access/tokens/resealer.js'
import type { Log } from '../../shared/log.js'

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

/** Records the end of a resealing, whose begin is a request. */
export const createResealRecord = (auditLog: AuditLog, log: Log) => {
  const record = createAuditRecord(auditLog, log)
  return (state: ResealState): void => {
    log.info({ ...state }, 'resealing has ended')
    record({ action: 'reseal', by: null, from: 'control', request: state })
  }
}
