import type { ListAudit } from '../dashboard/api/operator/operator.js'
import {
  auditAnswerOf,
  type AuditAnswer,
  type AuditPage,
  type AuditSearch,
} from '../dashboard/api/read-audit.js'
import type { ClusterPeers } from './cluster/cluster-peers.js'
import { AUDIT_ROWS_MAX, auditPath } from './peer-routes.js'

type Part = { readonly machine: string } & (Pick<AuditPage, 'entries'> | AuditAnswer)

/**
 * Entries of several machines as one page, up to where the first of them ended. All of one
 * millisecond are on one page, which may exceed the limit by that: the next one begins before it.
 */
const mergePages = (parts: readonly Part[], limit: number) => {
  // A machine may have older ones after as many as it was asked for.
  const ends = parts.flatMap(({ entries }) =>
    entries.length < limit ? [] : (entries.at(-1)?.atMs ?? []),
  )
  const endMs = Math.max(0, ...ends)
  const found = parts
    .flatMap(({ machine, entries }) => entries.map(entry => ({ ...entry, machine })))
    .filter(({ atMs }) => atMs >= endMs)
    .toSorted((one, other) => other.atMs - one.atMs || (one.machine < other.machine ? -1 : 1))
  const lastMs = found[limit - 1]?.atMs ?? endMs
  const entries = found.filter(({ atMs }) => atMs >= lastMs)
  const isWhole = ends.length === 0 && entries.length === found.length
  return { entries, next: isWhole ? null : lastMs }
}

export type AuditSumParts = {
  readonly own: (search: AuditSearch) => Promise<AuditPage>
  /** Id of this machine. */
  readonly machine: string
  /** Of all machines. */
  readonly locations: readonly string[]
  readonly peers: Pick<ClusterPeers['client'], 'readEach'>
}

/** Audit logs of all machines as one. Each is asked for one page at most. */
export const createAuditSum =
  ({ own, machine, locations, peers }: AuditSumParts): ListAudit =>
  async given => {
    const limit = Math.min(given.limit, AUDIT_ROWS_MAX)
    const search = { ...given, limit }
    const [{ each, missing }, { entries }] = await Promise.all([
      peers.readEach(locations, auditPath(search), auditAnswerOf(search)),
      own(search),
    ])
    const mine = { machine, entries }
    const parts = each.map(one => ({ machine: one.machine, entries: one.answer.entries }))
    return { ...mergePages([mine, ...parts], limit), missing }
  }
