import type { AuditEntry } from '../../../access/audit/audit-log.js'

/** An operator who looks at an access has an entry in each hour in which they do. */
const EVERY_MS = 3_600_000
/** Operators and accesses that are remembered; of one that is forgotten there is one entry more. */
const KEPT_MAX = 1_000

/** Records which operator has looked at which access: an open page asks for it all the time. */
export const createViewAudit = (
  audit: (entry: Omit<AuditEntry, 'atMs'>) => void,
  now: () => number,
): ((subject: string, accessId: string, peer: string) => void) => {
  /** When each was recorded, the oldest first. */
  const recorded = new Map<string, number>()
  return (subject, accessId, peer) => {
    // An id has no space.
    const key = `${accessId} ${subject}`
    const [atMs, lastMs] = [now(), recorded.get(key)]
    // The clock can be set back.
    if (lastMs !== undefined && Math.abs(atMs - lastMs) < EVERY_MS) return
    recorded.delete(key)
    recorded.set(key, atMs)
    const [oldest] = recorded.keys()
    if (recorded.size > KEPT_MAX && oldest !== undefined) recorded.delete(oldest)
    audit({ action: 'view-access', by: subject, from: peer, accessId })
  }
}
