import {
  FailedTransactionMetadata,
  type LiteSvm,
  type TransactionMetadata,
} from 'litesvm/dist/internal.js'
import { ADDRESSES, isSameBytes } from '../solana/addresses.js'
import type { InnerInstruction, TransactionOutcome } from './block.js'
import type { ParsedTransaction } from '../solana/transaction.js'
import { type Executable, toExecutable } from './to-executable.js'
import { toTransactionError, type TransactionError } from './transaction-error.js'
import { verifySignatures } from '../solana/verify-signatures.js'

const SIGNATURE_FEE_LAMPORTS = 5_000n
const COMPUTE_UNITS_PER_INSTRUCTION = 200_000n
const COMPUTE_UNITS_MAX = 1_400_000n
const MICRO = 1_000_000n

/** Outcome of a run, in terms of the original transaction. */
export type SvmRun = Pick<
  TransactionOutcome,
  'error' | 'feeLamports' | 'logs' | 'innerInstructions' | 'computeUnits' | 'returnData'
>

/** The budget that compute budget instructions set. */
const readBudget = ({ instructions, keys }: ParsedTransaction) => {
  let unitLimit: bigint | undefined
  let unitPriceMicroLamports = 0n
  let ordinaryCount = 0n
  for (const { programIdIndex, data } of instructions) {
    const program = keys[programIdIndex]
    if (program === undefined || !isSameBytes(program, ADDRESSES.computeBudget)) {
      ordinaryCount++
      continue
    }
    const view = Buffer.from(data.buffer, data.byteOffset, data.byteLength)
    if (view[0] === 2 && view.length >= 5) unitLimit = BigInt(view.readUInt32LE(1))
    if (view[0] === 3 && view.length >= 9) unitPriceMicroLamports = view.readBigUInt64LE(1)
  }
  const limit = unitLimit ?? ordinaryCount * COMPUTE_UNITS_PER_INSTRUCTION
  return {
    unitPriceMicroLamports,
    unitCount: limit < COMPUTE_UNITS_MAX ? limit : COMPUTE_UNITS_MAX,
  }
}

/** The priority fee that compute budget instructions set. */
const priorityFeeOf = (transaction: ParsedTransaction): bigint => {
  const { unitPriceMicroLamports, unitCount } = readBudget(transaction)
  return (unitCount * unitPriceMicroLamports + MICRO - 1n) / MICRO
}

/** The price of a compute unit in micro-lamports; version 1 has a fee in place of it. */
export const unitPriceOf = (transaction: ParsedTransaction): bigint => {
  const { budget } = transaction
  if (budget === undefined) return readBudget(transaction).unitPriceMicroLamports
  const { priorityFeeLamports, unitLimit = 0 } = budget
  return unitLimit === 0 ? 0n : (priorityFeeLamports * MICRO) / BigInt(unitLimit)
}

/** The fee of a transaction. */
export const feeOf = (transaction: ParsedTransaction): bigint =>
  BigInt(transaction.signatures.length) * SIGNATURE_FEE_LAMPORTS +
  (transaction.budget?.priorityFeeLamports ?? priorityFeeOf(transaction))

const readReturnData = (meta: TransactionMetadata): TransactionOutcome['returnData'] => {
  const returned = meta.returnData()
  const data = returned.data()
  return data.length === 0 ? undefined : { programId: returned.programId(), data }
}

const readInner = (meta: TransactionMetadata): InnerInstruction[][] =>
  meta.innerInstructions().map(list =>
    list.map(inner => ({
      programIdIndex: inner.instruction().programIdIndex(),
      accounts: inner.instruction().accounts(),
      data: inner.instruction().data(),
      stackHeight: inner.stackHeight(),
    })),
  )

const run = (
  svm: LiteSvm,
  bytes: Uint8Array,
  priorityFeeLamports: bigint,
  signatureCount: number,
) => {
  const result = svm.sendVersionedTransaction(bytes)
  const failed = result instanceof FailedTransactionMetadata
  const meta = failed ? result.meta() : result
  return {
    error: failed ? toTransactionError(result.err()) : undefined,
    feeLamports: BigInt(signatureCount) * SIGNATURE_FEE_LAMPORTS + priorityFeeLamports,
    logs: meta.logs(),
    innerInstructions: readInner(meta),
    computeUnits: meta.computeUnitsConsumed(),
    returnData: readReturnData(meta),
  }
}

/** Maps the instruction index of an error to the original transaction. */
const toOriginalError = (
  error: TransactionError | undefined,
  { originals }: Executable,
): TransactionError | undefined => {
  if (typeof error !== 'object' || !('InstructionError' in error)) return error
  const [index, inner] = error.InstructionError
  return { InstructionError: [originals[index] ?? 0, inner] }
}

const toOriginal = (ran: SvmRun, executable: Executable, instructionCount: number): SvmRun => {
  const { originals, budgetCount, budgetUnits } = executable
  const innerInstructions: (readonly InnerInstruction[])[] = Array.from(
    { length: instructionCount },
    () => [],
  )
  for (const [index, list] of ran.innerInstructions.entries()) {
    const original = originals[index]
    if (original !== undefined) innerInstructions[original] = list
  }
  return {
    ...ran,
    error: toOriginalError(ran.error, executable),
    innerInstructions,
    logs: ran.logs.slice(2 * budgetCount),
    computeUnits: ran.computeUnits < budgetUnits ? 0n : ran.computeUnits - budgetUnits,
  }
}

/**
 * Runs a transaction; `undefined` where a signature of a version 1 transaction is invalid, which
 * the virtual machine cannot check.
 */
export const runOnSvm = (svm: LiteSvm, transaction: ParsedTransaction): SvmRun | undefined => {
  const { bytes, budget, signatures, instructions } = transaction
  if (budget === undefined) return run(svm, bytes, priorityFeeOf(transaction), signatures.length)
  if (svm.getSigverify() && !verifySignatures(transaction)) return undefined
  const executable = toExecutable(transaction, budget)
  const isChecked = svm.getSigverify()
  svm.setSigverify(false)
  try {
    const ran = run(svm, executable.bytes, executable.priorityFeeLamports, signatures.length)
    return toOriginal(ran, executable, instructions.length)
  } finally {
    svm.setSigverify(isChecked)
  }
}
