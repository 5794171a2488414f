import type { FailedTransactionMetadata } from 'litesvm/dist/internal.js'

/** Variants in the order of Solana's enum; `null` for a variant with fields. */
// prettier-ignore
const TRANSACTION_ERRORS = [
  'AccountInUse', 'AccountLoadedTwice', 'AccountNotFound', 'ProgramAccountNotFound',
  'InsufficientFundsForFee', 'InvalidAccountForFee', 'AlreadyProcessed', 'BlockhashNotFound', null,
  'CallChainTooDeep', 'MissingSignatureForFee', 'InvalidAccountIndex', 'SignatureFailure',
  'InvalidProgramForExecution', 'SanitizeFailure', 'ClusterMaintenance',
  'AccountBorrowOutstanding', 'WouldExceedMaxBlockCostLimit', 'UnsupportedVersion',
  'InvalidWritableAccount', 'WouldExceedMaxAccountCostLimit', 'WouldExceedAccountDataBlockLimit',
  'TooManyAccountLocks', 'AddressLookupTableNotFound', 'InvalidAddressLookupTableOwner',
  'InvalidAddressLookupTableData', 'InvalidAddressLookupTableIndex', 'InvalidRentPayingAccount',
  'WouldExceedMaxVoteCostLimit', 'WouldExceedAccountDataTotalLimit', null, null,
  'MaxLoadedAccountsDataSizeExceeded', 'InvalidLoadedAccountsDataSizeLimit',
  'ResanitizationNeeded', null, 'UnbalancedTransaction', 'ProgramCacheHitMaxLimit',
  'CommitCancelled',
] as const

// prettier-ignore
const INSTRUCTION_ERRORS = [
  'GenericError', 'InvalidArgument', 'InvalidInstructionData', 'InvalidAccountData',
  'AccountDataTooSmall', 'InsufficientFunds', 'IncorrectProgramId', 'MissingRequiredSignature',
  'AccountAlreadyInitialized', 'UninitializedAccount', 'UnbalancedInstruction',
  'ModifiedProgramId', 'ExternalAccountLamportSpend', 'ExternalAccountDataModified',
  'ReadonlyLamportChange', 'ReadonlyDataModified', 'DuplicateAccountIndex', 'ExecutableModified',
  'RentEpochModified', 'NotEnoughAccountKeys', 'AccountDataSizeChanged', 'AccountNotExecutable',
  'AccountBorrowFailed', 'AccountBorrowOutstanding', 'DuplicateAccountOutOfSync', null,
  'InvalidError', 'ExecutableDataModified', 'ExecutableLamportChange',
  'ExecutableAccountNotRentExempt', 'UnsupportedProgramId', 'CallDepth', 'MissingAccount',
  'ReentrancyNotAllowed', 'MaxSeedLengthExceeded', 'InvalidSeeds', 'InvalidRealloc',
  'ComputationalBudgetExceeded', 'PrivilegeEscalation', 'ProgramEnvironmentSetupFailure',
  'ProgramFailedToComplete', 'ProgramFailedToCompile', 'Immutable', 'IncorrectAuthority',
  'BorshIoError', 'AccountNotRentExempt', 'InvalidAccountOwner', 'ArithmeticOverflow',
  'UnsupportedSysvar', 'IllegalOwner', 'MaxAccountsDataAllocationsExceeded',
  'MaxAccountsExceeded', 'MaxInstructionTraceLengthExceeded',
  'BuiltinProgramsMustConsumeComputeUnits',
] as const

const INSTRUCTION_ERROR = 8
const CUSTOM = 25
const DUPLICATE_INSTRUCTION = 30
const INSUFFICIENT_FUNDS_FOR_RENT = 31
const RESTRICTED = 35

/** Error of a transaction, as in JSON-RPC. */
export type TransactionError =
  | Exclude<(typeof TRANSACTION_ERRORS)[number], null>
  | { readonly InstructionError: readonly [index: number, error: InstructionError] }
  | { readonly DuplicateInstruction: number }
  | { readonly InsufficientFundsForRent: { readonly account_index: number } }
  | { readonly ProgramExecutionTemporarilyRestricted: { readonly account_index: number } }

/** Error of one instruction. */
export type InstructionError =
  Exclude<(typeof INSTRUCTION_ERRORS)[number], null> | { readonly Custom: number }

// LiteSVM numbers only the variants without fields, and swaps two of them.
const SVM_TRANSACTION_ERRORS = TRANSACTION_ERRORS.filter(name => name !== null)
const swapAt = SVM_TRANSACTION_ERRORS.indexOf('InvalidLoadedAccountsDataSizeLimit')
SVM_TRANSACTION_ERRORS.splice(
  swapAt,
  2,
  'ResanitizationNeeded',
  'InvalidLoadedAccountsDataSizeLimit',
)
const SVM_INSTRUCTION_ERRORS = INSTRUCTION_ERRORS.filter(
  name => name !== null && name !== 'BorshIoError',
)

type SvmError = ReturnType<FailedTransactionMetadata['err']>
type SvmInstructionError =
  Extract<SvmError, { err(): unknown }> extends { err(): infer E } ? E : never

const toInstructionError = (error: SvmInstructionError): InstructionError => {
  if (typeof error === 'number') return SVM_INSTRUCTION_ERRORS[error] ?? 'BorshIoError'
  return 'code' in error ? { Custom: error.code } : 'BorshIoError'
}

/** Converts an error of LiteSVM. */
export const toTransactionError = (error: SvmError): TransactionError => {
  if (typeof error === 'number') return SVM_TRANSACTION_ERRORS[error] ?? 'SanitizeFailure'
  if ('err' in error) return { InstructionError: [error.index, toInstructionError(error.err())] }
  if ('index' in error) return { DuplicateInstruction: error.index }
  return error.constructor.name === 'TransactionErrorInsufficientFundsForRent'
    ? { InsufficientFundsForRent: { account_index: error.accountIndex } }
    : { ProgramExecutionTemporarilyRestricted: { account_index: error.accountIndex } }
}

const variant = (index: number, ...rest: number[]): Buffer => {
  const bytes = Buffer.alloc(4 + rest.length)
  bytes.writeUInt32LE(index)
  bytes.set(rest, 4)
  return bytes
}

const encodeInstructionError = (error: InstructionError): Buffer => {
  if (typeof error === 'string') return variant(INSTRUCTION_ERRORS.indexOf(error))
  const code = Buffer.alloc(4)
  code.writeUInt32LE(error.Custom)
  return variant(CUSTOM, ...code)
}

/** Encodes the error in bincode, as in the feed. */
export const encodeTransactionError = (error: TransactionError): Buffer => {
  if (typeof error === 'string') return variant(TRANSACTION_ERRORS.indexOf(error))
  if ('InstructionError' in error) {
    const [index, inner] = error.InstructionError
    return Buffer.concat([variant(INSTRUCTION_ERROR, index), encodeInstructionError(inner)])
  }
  if ('DuplicateInstruction' in error)
    return variant(DUPLICATE_INSTRUCTION, error.DuplicateInstruction)
  return 'InsufficientFundsForRent' in error
    ? variant(INSUFFICIENT_FUNDS_FOR_RENT, error.InsufficientFundsForRent.account_index)
    : variant(RESTRICTED, error.ProgramExecutionTemporarilyRestricted.account_index)
}
