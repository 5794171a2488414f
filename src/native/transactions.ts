import * as addon from '#native'
import { call, toFailure } from './errors.js'

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
  /** Of a route that takes bundles one by one. */
  readonly bundle?: BundleCallForm
}

/** What a route takes as a call of `sendBundle`. */
export type BundleCallForm = {
  readonly transactionsMax: number
  /** The longest transaction. */
  readonly bytesMax: number
  /** The second parameter: these members and no other. */
  readonly options: Readonly<Record<string, unknown>>
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
 * Who must pay each tip class its floor: every transaction, or one of them. Where they do, and
 * every member is a transaction that is signed, the request is clean.
 */
export type Payers = 'each' | 'one'

export type VerifyPoolOptions = addon.VerifyPoolOptions

/**
 * The checks of one route. What they promise rejects with the error `checksOverloaded` where too
 * many wait.
 */
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
  /** Judges a bundle at once but for its signatures. */
  beginBundle(transactions: readonly string[], bytesMax: number): BegunBundle
  /**
   * The same of the body of a request, where that is nothing but a call of `sendBundle` that is
   * right for the route, with an id and canonical base64, written as nearly every client does.
   * Undefined where it is anything else, or may be.
   */
  readBundle(body: Uint8Array): ReadBundle | undefined
  stats(): { readonly verifyWaiting: number; readonly verifyRunning: number }
}

/** What is known of a bundle but for its signatures. */
export type BundleVerdict = {
  /** Base58 of each member's first signature, of those whose layout could be read. */
  readonly signatures: readonly string[]
  /** Members that are no transactions, in order: `base64`, `size`, or why in words. */
  readonly faults: readonly { readonly index: number; readonly problem: string }[]
  /** The first two, counted from 0, that are equal in their bytes or in what is signed. */
  readonly duplicate: readonly [number, number] | undefined
  /** Where every member has a first signature. */
  readonly bundleId: string | undefined
  /** One of the members qualifies. */
  readonly qualifies: boolean
}

/** A bundle of which the signatures are still looked at. */
export type BegunBundle = BundleVerdict & {
  /**
   * The first member that is not signed as it says, by its index; undefined where all are. A
   * promise where that is not known by now, which rejects with `checksOverloaded` where too many
   * wait. To be called once. Absent where a member is no transaction, or there is a duplicate.
   */
  readonly wrongSignature: (() => number | undefined | Promise<number | undefined>) | undefined
}

/** A call of `sendBundle`. */
export type ReadBundle = {
  /** As its raw JSON token. */
  readonly id: string
  /**
   * Where in the body the transactions stand, with their quotes and nothing but commas between
   * them.
   */
  readonly start: number
  readonly end: number
  readonly begun: BegunBundle
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

const toWrong = (native: addon.TransactionChecks, signing: number) => {
  const known = call(() => native.knownSigned(signing))
  if (known === null) return awaitWrong(call(() => native.signed(signing)))
  return known === -1 ? undefined : known
}

/** A bundle as the addon's `beginBundle` says it, from a line on. */
const toBegun = (
  native: addon.TransactionChecks,
  lines: readonly string[],
  from: number,
): BegunBundle => {
  const signing = lines[from] ?? ''
  const duplicate = lines[from + 2] ?? ''
  const bundleId = lines[from + 3] ?? ''
  const faultsFrom = from + 5
  const signaturesFrom = faultsFrom + 2 * Number(lines[from + 4])
  const faults = []
  for (let at = faultsFrom; at < signaturesFrom; at += 2)
    faults.push({ index: Number(lines[at]), problem: lines[at + 1] ?? '' })
  return {
    signatures: lines.slice(signaturesFrom, -1),
    bundleId: bundleId === '' ? undefined : bundleId,
    qualifies: lines[from + 1] === '1',
    faults,
    duplicate: duplicate === '' ? undefined : toPair(duplicate.split(',').map(Number)),
    wrongSignature: signing === '' ? undefined : () => toWrong(native, Number(signing)),
  }
}

/** JavaScript values as the addon takes them. */
const toForm = ({ transactionsMax, bytesMax, options }: BundleCallForm): addon.BundleFormData => ({
  transactionsMax,
  bytesMax,
  options: Object.entries(options).map(([name, value]) => [name, JSON.stringify(value)]),
})

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
        rules.bundle && toForm(rules.bundle),
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
    beginBundle: (transactions, bytesMax) =>
      toBegun(native, call(() => native.beginBundle([...transactions], bytesMax)).split('\n'), 0),
    readBundle: body => {
      const read = call(() => native.readBundle(body))
      if (read === null) return undefined
      const lines = read.split('\n')
      const [id = '', start, end] = lines
      return { id, start: Number(start), end: Number(end), begun: toBegun(native, lines, 3) }
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
