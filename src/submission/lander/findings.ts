import { RpcError } from '../../shared/errors.js'
import type { MemberVerdict, Verdict } from '../../native/transactions.js'

/** The value in place of findings that are not known when the reply is sent. */
export const UNCHECKED = 'unchecked'

/** Kinds of findings, the gravest first. */
export const FINDING_KINDS = ['structure', 'signature', 'tip'] as const
export type FindingKind = (typeof FINDING_KINDS)[number]

/** One reason for which the upstream may refuse a request. */
export type Finding = {
  readonly kind: FindingKind
  /** The transaction, counted from 0; undefined for a bundle as a whole. */
  readonly member: number | undefined
  /** The error, where findings are enforced. */
  readonly toError: () => RpcError
}

/** Which tips are required: of each transaction of a request, or of one of them. */
export type TipRule = { readonly payers: 'each' | 'one'; readonly floorLamports: bigint }

const paidBy = ({ tips }: MemberVerdict): bigint => tips.reduce((sum, tip) => sum + tip, 0n)

const tipError = (provided: bigint, required: bigint): RpcError =>
  provided === 0n
    ? new RpcError('tipMissing')
    : new RpcError('tipInsufficient', { provided: String(provided), required: String(required) })

const ownFinding = ({ problem, isSigned }: MemberVerdict, index: number): Finding | undefined => {
  if (problem !== undefined) {
    const toError = () => new RpcError('transactionMalformed', { index, problem: problem.reason })
    return { kind: 'structure', member: index, toError }
  }
  if (isSigned !== false) return undefined
  const toError = () => new RpcError('transactionSignature', { index })
  return { kind: 'signature', member: index, toError }
}

/** All findings of one request's transactions, by member. A malformed member needs no tip. */
export const findAll = (
  { members }: Verdict,
  { payers, floorLamports }: TipRule,
): readonly Finding[] => {
  const findings: Finding[] = []
  let best = 0n
  let isReadable = true
  for (const [index, member] of members.entries()) {
    const own = ownFinding(member, index)
    if (own !== undefined) findings.push(own)
    if (member.problem !== undefined) {
      isReadable = false
      continue
    }
    const paid = paidBy(member)
    if (paid > best) best = paid
    if (payers === 'each' && paid < floorLamports)
      findings.push({ kind: 'tip', member: index, toError: () => tipError(paid, floorLamports) })
  }
  if (payers === 'one' && isReadable && best < floorLamports)
    findings.push({ kind: 'tip', member: undefined, toError: () => tipError(best, floorLamports) })
  return findings
}

/**
 * `X-Lander-Findings`: for each transaction with findings its number and their kinds, as in
 * `0:tip;2:signature,tip`. A finding of the whole bundle follows as `bundle:tip`.
 */
export const formatFindings = (findings: readonly Finding[]): string => {
  const kinds = new Map<number | 'bundle', FindingKind[]>()
  for (const { member = 'bundle', kind } of findings) {
    const known = kinds.get(member)
    if (known === undefined) kinds.set(member, [kind])
    else known.push(kind)
  }
  return Array.from(kinds, ([member, all]) => `${member}:${all.join(',')}`).join(';')
}

/** The finding that counts first: the gravest, and of equal ones the first transaction's. */
export const gravest = (findings: readonly Finding[]): Finding | undefined => {
  for (const kind of FINDING_KINDS) {
    const found = findings.find(finding => finding.kind === kind)
    if (found !== undefined) return found
  }
  return undefined
}
