import * as addon from '#native'
import { call, toFailure } from './native-failure.js'

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

/** What is known of one transaction. */
export type MemberVerdict = {
  /**
   * Byte range in the body of a batch; in a bundle `start` is 0 and the length that of the decoded
   * bytes.
   */
  readonly start: number
  readonly byteLength: number
  /** `base64`, `size`, or in words why it is no transaction. */
  readonly problem: string | undefined
  /** Base58 of the first signature, where the layout could be read. */
  readonly signature: string | undefined
  /** Whether every signature is right; undefined where that was not looked at. */
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

/**
 * Who must pay each tip class its floor: every transaction, or one of them. Where they do, and every member is a transaction
 * that is signed, the request is clean.
 */
export type Payers = 'each' | 'one'

export type VerifyPoolOptions = addon.VerifyPoolOptions

/** The checks of one route. What they promise rejects with the error `checksOverloaded` where too many wait. */
export type TransactionChecks = {
  /**
   * The frames alone, at once: complete records before the fault, and the fault with its record
   * and offset.
   */
  frameBatch(body: Uint8Array): { readonly count: number; readonly problem: string | undefined }
  /**
   * Every complete record, in place: until this settles, `body` must be neither changed, resized
   * nor transferred.
   */
  checkBatch(body: Uint8Array): Promise<Verdict>
  /** The same; undefined where the batch is clean. */
  checkBatch(body: Uint8Array, payers: Payers): Promise<Verdict | undefined>
  /** Base64 texts as they stand in the request, of at most `bytesMax` bytes each. */
  checkBundle(transactions: readonly string[], bytesMax: number): Promise<Verdict>
  /** The same; undefined where the bundle is clean. */
  checkBundle(
    transactions: readonly string[],
    bytesMax: number,
    payers: Payers,
  ): Promise<Verdict | undefined>
  /** The same, all at once but the signatures. */
  beginBundle(transactions: readonly string[], bytesMax: number): BegunBundle
  /**
   * Has the signatures of the bundle that a request's body seems to hold looked at before the body is read: up to
   * `countMax` texts of at most `bytesMax` bytes. Nothing else comes of it but that `beginBundle`, next with the very same
   * texts, finds them under way.
   */
  foresee(body: Uint8Array, countMax: number, bytesMax: number): void
  /** Has a free thread awake when, within a tenth of a millisecond, a bundle is begun. */
  announce(): void
  stats(): { readonly verifyWaiting: number; readonly verifyRunning: number }
}

/** A bundle of which the signatures are still looked at. */
export type BegunBundle = {
  /** Each `isSigned` is undefined. */
  readonly verdict: Verdict
  /**
   * The first member that is not signed as it says, by its index; undefined where all are. A promise where that is not
   * known by now, which rejects with `checksOverloaded` where too many wait. To be called once. Absent where a member is
   * no transaction, or there is a duplicate.
   */
  readonly wrongSignature: (() => number | undefined | Promise<number | undefined>) | undefined
}

const toMember = (member: addon.MemberData): MemberVerdict => ({
  start: member.start,
  byteLength: member.byteLength,
  problem: member.problem,
  signature: member.signature,
  isSigned: member.isSigned,
  tips: member.tips,
  hasApplication: member.hasApplication,
  qualifies: member.qualifies,
})

const toVerdict = ({ members, duplicate, bundleId }: addon.VerdictData): Verdict => {
  const [one, other] = duplicate ?? []
  return {
    members: members.map(toMember),
    duplicate: one === undefined || other === undefined ? undefined : [one, other],
    bundleId,
  }
}

const toWholeVerdict = async (
  task: Promise<addon.VerdictData | null>,
): Promise<Verdict | undefined> => {
  const data = await task
  if (data === null) return undefined
  if (data.error !== undefined) throw toFailure(data.error, data.detail ?? '')
  return toVerdict(data)
}

const awaitWrong = async (task: Promise<addon.SignedData>): Promise<number | undefined> => {
  const { wrong, error, detail } = await task
  if (error !== undefined) throw toFailure(error, detail ?? '')
  return wrong
}

const toWrong = (native: addon.TransactionChecks, signing: addon.ExternalObject<unknown>) => {
  const known = call(() => native.knownSigned(signing))
  if (known === null) return awaitWrong(call(() => native.signed(signing)))
  return known === -1 ? undefined : known
}

/**
 * Makes the checks of one route. The first options of a process make its pool; all its routes
 * share it.
 */
export const createTransactionChecks = (
  rules: TransactionRules,
  pool: VerifyPoolOptions,
): TransactionChecks => {
  const native = call(
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
  const isOneEnough = (payers: Payers | undefined): boolean | undefined =>
    payers === undefined ? undefined : payers === 'one'
  function checkBatch(body: Uint8Array): Promise<Verdict>
  function checkBatch(body: Uint8Array, payers?: Payers): Promise<Verdict | undefined>
  function checkBatch(body: Uint8Array, payers?: Payers): Promise<Verdict | undefined> {
    return toWholeVerdict(call(() => native.checkBatch(body, isOneEnough(payers))))
  }
  function checkBundle(transactions: readonly string[], bytesMax: number): Promise<Verdict>
  function checkBundle(
    transactions: readonly string[],
    bytesMax: number,
    payers?: Payers,
  ): Promise<Verdict | undefined>
  function checkBundle(
    transactions: readonly string[],
    bytesMax: number,
    payers?: Payers,
  ): Promise<Verdict | undefined> {
    const one = isOneEnough(payers)
    return toWholeVerdict(call(() => native.checkBundle([...transactions], bytesMax, one)))
  }
  return {
    frameBatch: body => {
      const { count, problem } = call(() => native.frameBatch(body))
      return { count, problem }
    },
    checkBatch,
    checkBundle,
    announce: () => call(() => native.announce()),
    foresee: (body, countMax, bytesMax) => call(() => native.foresee(body, countMax, bytesMax)),
    beginBundle: (transactions, bytesMax) => {
      const { verdict, signing } = call(() => native.beginBundle([...transactions], bytesMax))
      return {
        verdict: toVerdict(verdict),
        wrongSignature: signing === undefined ? undefined : () => toWrong(native, signing),
      }
    },
    stats: () => call(() => native.stats()),
  }
}

/**
 * Processor time of the check of a batch on this thread, and of a bare loop over its signatures:
 * for a bench.
 */
export const compareLoops = (body: Uint8Array): addon.LoopTimes =>
  call(() => addon.compareLoops(body))
