import { ADDRESSES, isSameBytes } from '../solana/addresses.js'
import { encodeLength } from '../solana/compile-transaction.js'
import type {
  CompiledInstruction,
  ComputeBudget,
  ParsedTransaction,
} from '../solana/transaction.js'

/**
 * The legacy form of a version 1 transaction, which LiteSVM does not support: compute budget
 * instructions come first. The signatures do not match these bytes.
 */
export type Executable = {
  readonly bytes: Uint8Array
  /** Index of each instruction in the original; `undefined` for the added ones. */
  readonly originals: readonly (number | undefined)[]
  /** Number of added instructions; each logs two lines. */
  readonly budgetCount: number
  /** Compute units of the added instructions; the limit is raised by as much. */
  readonly budgetUnits: bigint
  readonly priorityFeeLamports: bigint
}

const UNITS_PER_BUDGET_INSTRUCTION = 150
/** Greatest compute unit limit of a transaction. */
const UNITS_MAX = 1_400_000
const UNIT_LIMIT = 2
const U64_MAX = 2n ** 64n - 1n
const UNIT_PRICE = 3
const HEAP_FRAME = 1
const LOADED_BYTES = 4
const MICRO = 1_000_000n

const word = (tag: number, value: number): Buffer => {
  const data = Buffer.alloc(5)
  data.writeUInt8(tag)
  data.writeUInt32LE(value, 1)
  return data
}
const price = (microLamports: bigint): Buffer => {
  const data = Buffer.alloc(9)
  data.writeUInt8(UNIT_PRICE)
  // No account can pay the capped fee either.
  data.writeBigUInt64LE(microLamports > U64_MAX ? U64_MAX : microLamports, 1)
  return data
}

/** Data of the budget instructions, and the priority fee that they cause. */
const toBudget = ({
  priorityFeeLamports,
  unitLimit = 0,
  loadedBytesMax = 0,
  heapBytes,
}: ComputeBudget) => {
  const budgetCount = heapBytes === undefined ? 3 : 4
  const units = Math.min(unitLimit + budgetCount * UNITS_PER_BUDGET_INSTRUCTION, UNITS_MAX)
  // The price per unit is rounded up: the fee may be a lamport or two higher, never lower.
  const unitPrice = (priorityFeeLamports * MICRO + BigInt(units) - 1n) / BigInt(units)
  const data = [word(UNIT_LIMIT, units), price(unitPrice), word(LOADED_BYTES, loadedBytesMax)]
  if (heapBytes !== undefined) data.push(word(HEAP_FRAME, heapBytes))
  return {
    data,
    budgetCount,
    budgetUnits: BigInt(budgetCount * UNITS_PER_BUDGET_INSTRUCTION),
    priorityFeeLamports: (BigInt(units) * unitPrice + MICRO - 1n) / MICRO,
  }
}

const encodeInstruction = ({ programIdIndex, accounts, data }: CompiledInstruction): Buffer =>
  Buffer.concat([
    Uint8Array.of(programIdIndex, ...encodeLength(accounts.length)),
    accounts,
    Uint8Array.from(encodeLength(data.length)),
    data,
  ])

/** Converts a version 1 transaction with this budget. */
export const toExecutable = (transaction: ParsedTransaction, budget: ComputeBudget): Executable => {
  const { keys, instructions, signatures, recentBlockhash } = transaction
  const { data, ...costs } = toBudget(budget)
  const known = keys.findIndex(key => isSameBytes(key, ADDRESSES.computeBudget))
  const added = known === -1 ? [ADDRESSES.computeBudget] : []
  const programIdIndex = known === -1 ? keys.length : known
  const front = data.map(each => ({ programIdIndex, accounts: new Uint8Array(), data: each }))
  // Version 1 ignores budget instructions; here they would conflict with the added ones.
  const kept = [...instructions.entries()].filter(([, each]) => each.programIdIndex !== known)
  const all = [...front, ...kept.map(([, each]) => each)]
  const bytes = Buffer.concat([
    Uint8Array.from(encodeLength(signatures.length)),
    ...signatures,
    Uint8Array.of(
      transaction.requiredSignatureCount,
      transaction.readonlySignedCount,
      transaction.readonlyUnsignedCount + added.length,
      ...encodeLength(keys.length + added.length),
    ),
    ...keys,
    ...added,
    recentBlockhash,
    Uint8Array.from(encodeLength(all.length)),
    ...all.map(encodeInstruction),
  ])
  return { ...costs, bytes, originals: [...front.map(() => undefined), ...kept.map(([at]) => at)] }
}
