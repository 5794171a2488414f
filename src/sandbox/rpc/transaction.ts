import bs58 from 'bs58'
import { isAbsent, type Members } from '../../shared/values.js'
import type { InnerInstruction, TokenBalance, TransactionRecord } from '../chain/block.js'
import {
  type CompiledInstruction,
  type ComputeBudget,
  isWritableStatic,
  type ParsedTransaction,
} from '../solana/transaction.js'
import { invalidParam, quote, RpcFailure } from './failure.js'

const ENCODINGS = ['json', 'jsonParsed', 'base64', 'base58'] as const
type Encoding = (typeof ENCODINGS)[number]

const isEncoding = (value: unknown): value is Encoding =>
  ENCODINGS.some(encoding => encoding === value)

/** The requested encoding; the default is JSON, as on Solana. */
export const toEncoding = ({ encoding, maxSupportedTransactionVersion }: Members): Encoding => {
  if (isAbsent(encoding)) return 'json'
  if (!isEncoding(encoding))
    throw invalidParam(`Invalid params: unknown variant \`${quote(encoding)}\``)
  if (encoding === 'base58' && Number(maxSupportedTransactionVersion) >= 1)
    throw invalidParam('base58 encoding is not supported with maxSupportedTransactionVersion >= 1')
  return encoding
}

const allKeys = ({ transaction, loadedWritable, loadedReadonly }: TransactionRecord): string[] =>
  [...transaction.keys, ...loadedWritable, ...loadedReadonly].map(key => bs58.encode(key))

/** Every account key with its roles, in order. */
export const toParsedKeys = (record: TransactionRecord) => {
  const { transaction, loadedWritable } = record
  const fixedCount = transaction.keys.length
  return allKeys(record).map((pubkey, index) => ({
    pubkey,
    signer: index < transaction.requiredSignatureCount,
    writable:
      index < fixedCount
        ? isWritableStatic(transaction, index)
        : index < fixedCount + loadedWritable.length,
    source: index < fixedCount ? 'transaction' : 'lookupTable',
  }))
}

type AnyInstruction = CompiledInstruction | InnerInstruction

const toInstruction = (instruction: AnyInstruction, keys: readonly string[] | undefined) => {
  const { programIdIndex, accounts, data } = instruction
  const stackHeight = 'stackHeight' in instruction ? instruction.stackHeight : 1
  const text = bs58.encode(data)
  return keys === undefined
    ? { programIdIndex, accounts: [...accounts], data: text, stackHeight }
    : // The shape of an instruction without a parser, as on Solana.
      {
        programId: keys[programIdIndex],
        accounts: Array.from(accounts, index => keys[index]),
        data: text,
        stackHeight,
      }
}

/** What a message of version 1 sets in place of compute budget instructions. */
const toConfig = (budget: ComputeBudget | undefined) =>
  budget && {
    priorityFee: budget.hasPriorityFee ? budget.priorityFeeLamports : null,
    computeUnitLimit: budget.unitLimit ?? null,
    loadedAccountsDataSizeLimit: budget.loadedBytesMax ?? null,
    heapSize: budget.heapBytes ?? null,
  }

const toLookups = ({ version, lookups }: ParsedTransaction) =>
  version !== 0
    ? undefined
    : lookups.map(({ table, writableIndexes, readonlyIndexes }) => ({
        accountKey: bs58.encode(table),
        writableIndexes: [...writableIndexes],
        readonlyIndexes: [...readonlyIndexes],
      }))

const encode = (record: TransactionRecord, encoding: Encoding) => {
  const { transaction } = record
  if (encoding === 'base64') return [Buffer.from(transaction.bytes).toString('base64'), encoding]
  if (encoding === 'base58') return [bs58.encode(transaction.bytes), encoding]
  const isParsed = encoding === 'jsonParsed'
  const keys = isParsed ? allKeys(record) : undefined
  const header = {
    numRequiredSignatures: transaction.requiredSignatureCount,
    numReadonlySignedAccounts: transaction.readonlySignedCount,
    numReadonlyUnsignedAccounts: transaction.readonlyUnsignedCount,
  }
  return {
    signatures: transaction.signatures.map(signature => bs58.encode(signature)),
    message: {
      header: isParsed ? undefined : header,
      accountKeys: isParsed ? toParsedKeys(record) : transaction.keys.map(key => bs58.encode(key)),
      recentBlockhash: bs58.encode(transaction.recentBlockhash),
      instructions: transaction.instructions.map(given => toInstruction(given, keys)),
      addressTableLookups: toLookups(transaction),
      transactionConfig: toConfig(transaction.budget),
    },
  }
}

/** An amount as a decimal without trailing zeros. */
export const toUiText = (amount: bigint, decimals: number): string => {
  const digits = String(amount).padStart(decimals + 1, '0')
  const point = digits.length - decimals
  return decimals === 0
    ? digits
    : `${digits.slice(0, point)}.${digits.slice(point)}`.replace(/\.?0+$/, '')
}

const toTokenBalance = ({ amount, decimals, ...rest }: TokenBalance) => {
  const uiAmountString = toUiText(amount, decimals)
  const uiAmount = amount === 0n ? null : Number(uiAmountString)
  return { ...rest, uiTokenAmount: { amount: String(amount), decimals, uiAmount, uiAmountString } }
}

/** Return data in the shape of JSON-RPC. */
export const toReturnData = (returned: TransactionRecord['returnData']) =>
  returned && {
    programId: bs58.encode(returned.programId),
    data: [Buffer.from(returned.data).toString('base64'), 'base64'],
  }

/** Inner instructions in the shape of JSON-RPC; empty lists are omitted. */
export const toInner = (record: TransactionRecord, isParsed: boolean) =>
  record.innerInstructions.flatMap((list, index) =>
    list.length === 0
      ? []
      : [
          {
            index,
            instructions: list.map(inner =>
              toInstruction(inner, isParsed ? allKeys(record) : undefined),
            ),
          },
        ],
  )

const toMeta = (record: TransactionRecord, isParsed: boolean) => {
  const { error } = record
  const texts = (keys: readonly Uint8Array[]): string[] => keys.map(key => bs58.encode(key))
  return {
    err: error ?? null,
    status: error === undefined ? { Ok: null } : { Err: error },
    fee: record.feeLamports,
    preBalances: record.preBalances,
    postBalances: record.postBalances,
    innerInstructions: toInner(record, isParsed),
    logMessages: record.logs,
    preTokenBalances: record.preTokenBalances.map(toTokenBalance),
    postTokenBalances: record.postTokenBalances.map(toTokenBalance),
    rewards: [],
    // The parsed keys include them.
    loadedAddresses: isParsed
      ? undefined
      : { writable: texts(record.loadedWritable), readonly: texts(record.loadedReadonly) },
    returnData: toReturnData(record.returnData),
    computeUnitsConsumed: record.computeUnits,
  }
}

/** A transaction with its outcome. Throws if its version exceeds what the caller supports. */
export const toTransaction = (
  record: TransactionRecord,
  encoding: Encoding,
  { maxSupportedTransactionVersion: versionMax }: Members,
) => {
  const { version } = record.transaction
  const isKnown = version === 'legacy' || (typeof versionMax === 'number' && version <= versionMax)
  if (!isKnown)
    throw new RpcFailure(
      -32015,
      `Transaction version (${version}) is not supported by the requesting client. Please try the request again with the following configuration parameter: "maxSupportedTransactionVersion": ${version}`,
    )
  return {
    transaction: encode(record, encoding),
    meta: toMeta(record, encoding === 'jsonParsed'),
    version: isAbsent(versionMax) ? undefined : version,
  }
}
