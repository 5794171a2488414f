import { ADDRESSES, isSameBytes } from '../solana/addresses.js'
import { encodeLength } from '../solana/compile-transaction.js'
import type {
  CompiledInstruction,
  ComputeBudget,
  ParsedTransaction,
} from '../solana/parse-transaction.js'

/**
 * What the virtual machine, which knows no version 1, runs in its place: the same as a legacy
 * transaction, with the budget as instructions in front. Its signatures are not for these bytes.
 */
export type Executable = {
  readonly bytes: Uint8Array
  /** Index in the original of each instruction; `undefined` for those that were put in front. */
  readonly originals: readonly (number | undefined)[]
  /** Instructions that were put in front, and log two lines each. */
  readonly budgetCount: number
  /** What they use of the limit, which is higher by as much. */
  readonly budgetUnits: bigint
  readonly priorityFeeLamports: bigint
}

const UNITS_PER_BUDGET_INSTRUCTION = 150
/** No transaction may ask for more. */
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
  // A fee that nobody can pay, in whatever unit.
  data.writeBigUInt64LE(microLamports > U64_MAX ? U64_MAX : microLamports, 1)
  return data
}

/** Data of the instructions that say a budget, and the fee that they lead to. */
const toBudget = ({ priorityFeeLamports, unitLimit, loadedBytesMax, heapBytes }: ComputeBudget) => {
  const budgetCount = heapBytes === undefined ? 3 : 4
  const units = Math.min(unitLimit + budgetCount * UNITS_PER_BUDGET_INSTRUCTION, UNITS_MAX)
  // A total becomes a price for each unit, rounded up: a lamport or two more, never less.
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

/** The bytes that the virtual machine runs for a version 1 transaction with this budget. */
export const toExecutable = (transaction: ParsedTransaction, budget: ComputeBudget): Executable => {
  const { keys, instructions, signatures, recentBlockhash } = transaction
  const { data, ...said } = toBudget(budget)
  const known = keys.findIndex(key => isSameBytes(key, ADDRESSES.computeBudget))
  const added = known === -1 ? [ADDRESSES.computeBudget] : []
  const programIdIndex = known === -1 ? keys.length : known
  const front = data.map(each => ({ programIdIndex, accounts: new Uint8Array(), data: each }))
  // Budget instructions mean nothing in version 1, and here they would mean it twice.
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
  return { ...said, bytes, originals: [...front.map(() => undefined), ...kept.map(([at]) => at)] }
}
