import { LiteSvm } from 'litesvm/dist/internal.js'
import t from 'tap'
import {
  encodeTransactionError,
  toTransactionError,
} from '../../../src/sandbox/chain/transaction-error.js'
import { yellowstone } from '../../fixtures/sandbox/yellowstone.js'

/** The official client uses Solana's own decoder. */
const decode = (bytes: Uint8Array): unknown => yellowstone.txErrDecode.decode(bytes)

type SvmError = Parameters<typeof toTransactionError>[0]

/** LiteSVM has its own number for a failure without fields. */
const cases: [svm: number, name: string][] = [
  [0, 'AccountInUse'],
  [7, 'BlockhashNotFound'],
  [8, 'CallChainTooDeep'],
  [13, 'SanitizeFailure'],
  [28, 'WouldExceedAccountDataTotalLimit'],
  [29, 'MaxLoadedAccountsDataSizeExceeded'],
  [30, 'ResanitizationNeeded'],
  [31, 'InvalidLoadedAccountsDataSizeLimit'],
  [32, 'UnbalancedTransaction'],
  [34, 'CommitCancelled'],
]
for (const [number, name] of cases)
  t.test(name, async t => {
    const error = toTransactionError(number as SvmError)
    t.equal(error, name)
    t.strictSame(decode(encodeTransactionError(error)), name)
  })

t.test('errors with fields are encoded', async t => {
  t.strictSame(decode(encodeTransactionError({ InstructionError: [3, { Custom: 6001 }] })), {
    InstructionError: [3, { Custom: 6001 }],
  })
  t.strictSame(decode(encodeTransactionError({ InstructionError: [0, 'InvalidAccountOwner'] })), {
    InstructionError: [0, 'InvalidAccountOwner'],
  })
  t.strictSame(decode(encodeTransactionError({ DuplicateInstruction: 2 })), {
    DuplicateInstruction: 2,
  })
  t.strictSame(decode(encodeTransactionError({ InsufficientFundsForRent: { account_index: 1 } })), {
    InsufficientFundsForRent: { account_index: 1 },
  })
  t.strictSame(
    decode(encodeTransactionError({ ProgramExecutionTemporarilyRestricted: { account_index: 4 } })),
    { ProgramExecutionTemporarilyRestricted: { account_index: 4 } },
  )
})

t.test('instruction errors of LiteSVM are mapped by number', async t => {
  const instruction = (error: unknown) =>
    toTransactionError({ index: 2, err: () => error } as unknown as SvmError)
  t.strictSame(instruction(0), { InstructionError: [2, 'GenericError'] })
  t.strictSame(instruction(25), { InstructionError: [2, 'InvalidError'] })
  t.strictSame(instruction(43), { InstructionError: [2, 'AccountNotRentExempt'] })
  t.strictSame(instruction(52), { InstructionError: [2, 'BorshIoError'] })
  t.strictSame(instruction({ code: 9 }), { InstructionError: [2, { Custom: 9 }] })
  t.ok(LiteSvm)
})
