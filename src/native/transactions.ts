import * as addon from '#native'
import { callNative, toFailure } from './errors.js'

/** What the checks of one route count. Created once per route. */
export type TransactionRules = {
  /**
   * Addresses whose tips are summed together, and what the sum must reach. No address stands in
   * two classes.
   */
  readonly tipClasses: readonly {
    readonly addresses: readonly string[]
    readonly floorLamports: bigint
  }[]
  /** Programs that are no application. */
  readonly exemptPrograms: readonly string[]
}

/** Why a transaction cannot be used. */
export type Problem = {
  readonly kind: 'base64' | 'size' | 'structure'
  /** Why the structure is wrong; otherwise empty. */
  readonly reason: string
}

/** What is known of one transaction. */
export type MemberVerdict = {
  /**
   * Byte range in the body of a batch; in a bundle `start` is 0 and the length that of the decoded
   * bytes.
   */
  readonly start: number
  readonly byteLength: number
  readonly problem: Problem | undefined
  /** Base58 of the first signature, where the layout could be read. */
  readonly signature: string | undefined
  /** Whether every signature is right; undefined where they were not checked. */
  readonly isSigned: boolean | undefined
  /** Lamports for each tip class, in the order of the rules. */
  readonly tips: readonly bigint[]
  /** An instruction of no exempt program that has a writable static account. */
  readonly hasApplication: boolean
  /** Every class gets its floor, and there is an application. */
  readonly qualifies: boolean
}

/** What is known of a request's transactions. */
export type Verdict = {
  readonly members: readonly MemberVerdict[]
  /** The first two, counted from 0, that are equal in their bytes or in what is signed. */
  readonly duplicate: readonly [number, number] | undefined
  /** Where every member has a first signature. */
  readonly bundleId: string | undefined
}

export type VerifyPoolOptions = addon.VerifyPoolOptions

/** The checks of one route. Their promises reject with `checksOverloaded` where too many wait. */
export type TransactionChecks = {
  /**
   * Only the frames, synchronously: complete records before the fault, and the fault with its
   * record and offset.
   */
  frameBatch(body: Uint8Array): { readonly count: number; readonly problem: string | undefined }
  /**
   * Every complete record, in place: until this settles, `body` must be neither changed, resized
   * nor transferred.
   */
  checkBatch(body: Uint8Array): Promise<Verdict>
  /** Base64 texts as they stand in the request, of at most `bytesMax` bytes each. */
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
 * Makes the checks of one route. The first options of a process make its pool; all its routes
 * share it.
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
 * Processor time of the check of a batch on this thread, and of a bare loop over its signatures:
 * for a bench.
 */
export const compareLoops = (body: Uint8Array): addon.LoopTimes =>
  callNative(() => addon.compareLoops(body))
