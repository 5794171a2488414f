import * as addon from '#native'
import { callNative, toFailure } from './errors.js'

/** Rules of one route's checks. Created once per route. */
export type TransactionRules = {
  /**
   * Addresses whose tips are summed, and the minimum of the sum. Classes must not share an address.
   */
  readonly tipClasses: readonly {
    readonly addresses: readonly string[]
    readonly floorLamports: bigint
  }[]
  /** Programs that do not count as applications. */
  readonly exemptPrograms: readonly string[]
}

/** Why a transaction is invalid. */
export type Problem = {
  readonly kind: 'base64' | 'size' | 'structure'
  /** Reason of an invalid structure; otherwise empty. */
  readonly reason: string
}

/** Verdict on one transaction. */
export type MemberVerdict = {
  /** Byte range in the body of a batch; in a bundle from 0 to the length of the decoded bytes. */
  readonly start: number
  readonly byteLength: number
  readonly problem: Problem | undefined
  /** Base58 of the first signature, if the layout is readable. */
  readonly signature: string | undefined
  /** Whether every signature is valid; undefined if they were not checked. */
  readonly isSigned: boolean | undefined
  /** Lamports for each tip class, in the order of the rules. */
  readonly tips: readonly bigint[]
  /** True if an instruction of a program that is not exempt has a writable static account. */
  readonly hasApplication: boolean
  /** True if every class reaches its minimum and there is an application. */
  readonly qualifies: boolean
}

/** Verdict on a request's transactions. */
export type Verdict = {
  readonly members: readonly MemberVerdict[]
  /** Indexes, from 0, of the first two with equal bytes or equal signed messages. */
  readonly duplicate: readonly [number, number] | undefined
  /** Present if every member has a first signature. */
  readonly bundleId: string | undefined
}

export type VerifyPoolOptions = addon.VerifyPoolOptions

/** Checks of one route. Their promises reject with `checksOverloaded` if too many wait. */
export type TransactionChecks = {
  /**
   * Parses only the frames, synchronously: complete records before the fault, and the fault with
   * its record and offset.
   */
  frameBatch(body: Uint8Array): { readonly count: number; readonly problem: string | undefined }
  /**
   * Checks every complete record in place: until this settles, `body` must not be changed, resized
   * or transferred.
   */
  checkBatch(body: Uint8Array): Promise<Verdict>
  /** Checks base64 texts as in the request, of at most `bytesMax` bytes each. */
  checkBundle(transactions: readonly string[], bytesMax: number): Promise<Verdict>
  stats(): { readonly verifyWaiting: number; readonly verifyRunning: number }
}

const toMember = ({ problem, ...member }: addon.MemberData): MemberVerdict => ({
  start: member.start,
  byteLength: member.byteLength,
  problem: problem && { kind: problem.kind, reason: problem.reason ?? '' },
  signature: member.signature,
  isSigned: member.isSigned,
  tips: member.tips,
  hasApplication: member.hasApplication,
  qualifies: member.qualifies,
})

const toPair = (
  duplicate: readonly number[] | undefined,
): readonly [number, number] | undefined => {
  const [one, other] = duplicate ?? []
  return one === undefined || other === undefined ? undefined : [one, other]
}

const toVerdict = ({ members, duplicate, bundleId }: addon.VerdictData): Verdict => ({
  members: members.map(toMember),
  duplicate: toPair(duplicate),
  bundleId,
})

const awaitVerdict = async (task: Promise<addon.VerdictData>): Promise<Verdict> => {
  const data = await task
  if (data.error !== undefined) throw toFailure(data.error, data.detail ?? '')
  return toVerdict(data)
}

/**
 * Creates the checks of one route. The first call's options create the process's pool, which all
 * its routes share.
 */
export const createTransactionChecks = (
  rules: TransactionRules,
  pool: VerifyPoolOptions,
): TransactionChecks => {
  const native = callNative(
    () =>
      new addon.TransactionChecks(
        {
          tipClasses: rules.tipClasses.map(({ addresses, floorLamports }) => ({
            addresses: [...addresses],
            floorLamports,
          })),
          exemptPrograms: [...rules.exemptPrograms],
        },
        pool,
      ),
  )
  return {
    frameBatch: body => {
      const { count, problem } = callNative(() => native.frameBatch(body))
      return { count, problem }
    },
    checkBatch: body => awaitVerdict(callNative(() => native.checkBatch(body))),
    checkBundle: (transactions, bytesMax) =>
      awaitVerdict(callNative(() => native.checkBundle([...transactions], bytesMax))),
    stats: () => callNative(() => native.stats()),
  }
}

/**
 * Measures the processor time of a batch's check on this thread, and of a bare loop over its
 * signatures, for a benchmark.
 */
export const compareLoops = (body: Uint8Array): addon.LoopTimes =>
  callNative(() => addon.compareLoops(body))
