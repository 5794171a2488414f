import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import bs58 from 'bs58'
import type { AccountState } from './block.js'

/** Bounds of an account folder. */
export const defaults = {
  /** An account of 10 MiB in base64, and space for the rest. */
  fileBytesMax: 16 * 1024 * 1024,
  /** All files are kept in memory. */
  folderBytesMax: 1024 * 1024 * 1024,
}
export type DumpOptions = typeof defaults

/** One account of a folder. */
export type Dump = { readonly pubkey: Uint8Array; readonly state: AccountState }

/** A folder or file that cannot be loaded; the message names it. */
class DumpError extends Error {
  override readonly name = 'DumpError'
}

const U64_MAX = 0xffff_ffff_ffff_ffffn
/** The largest u64 after rounding to a double. */
const ROUNDED_U64_MAX = 18446744073709552000n

/**
 * `JSON.parse` rounds integers above 2^53, so these members are quoted first. A quote inside a
 * string is escaped and never matches.
 */
const U64_MEMBERS = /("(?:lamports|rentEpoch|space)"\s*:\s*)(\d+)(?=\s*[,}])/g

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const fail = (reason: string): never => {
  throw new DumpError(reason)
}

const toU64 = (value: unknown, name: string): bigint => {
  if (typeof value !== 'string' || !/^\d+$/.test(value)) return fail(`${name} must be an integer`)
  const number = BigInt(value)
  if (number === ROUNDED_U64_MAX)
    fail(`${name} ${value} was rounded by the tool that wrote it; ${U64_MAX} was meant`)
  return number > U64_MAX ? fail(`${name} ${value} exceeds ${U64_MAX}`) : number
}

const toPubkey = (value: unknown, name: string): Uint8Array => {
  const bytes = typeof value === 'string' ? bs58.decodeUnsafe(value) : undefined
  return bytes?.length === 32 ? bytes : fail(`${name} must be a base58 address`)
}

const toData = (value: unknown): Buffer => {
  const [text, encoding] = Array.isArray(value) ? value : []
  if (typeof text !== 'string' || encoding !== 'base64')
    return fail('data must be [text, "base64"]')
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : fail('data is not base64')
}

/** Parses one dump. Throws DumpError. */
export const parseDump = (text: string): Dump => {
  let value: unknown
  try {
    value = JSON.parse(text.replace(U64_MEMBERS, '$1"$2"'))
  } catch {
    return fail('not JSON')
  }
  if (!isRecord(value) || !isRecord(value['account']))
    return fail('expected {pubkey, account: {…}}')
  const { account } = value
  const executable = account['executable']
  if (typeof executable !== 'boolean') return fail('executable must be true or false')
  return {
    pubkey: toPubkey(value['pubkey'], 'pubkey'),
    state: {
      lamports: toU64(account['lamports'], 'lamports'),
      owner: toPubkey(account['owner'], 'owner'),
      executable,
      rentEpoch: toU64(account['rentEpoch'], 'rentEpoch'),
      data: toData(account['data']),
    },
  }
}

const message = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Reads every `.json` file of a folder. Throws DumpError with the path of the invalid file. */
export const readDumps = (folder: string, options: Partial<DumpOptions> = {}): Dump[] => {
  const { fileBytesMax, folderBytesMax } = { ...defaults, ...options }
  let names: string[]
  try {
    names = readdirSync(folder).filter(name => name.endsWith('.json'))
  } catch (error) {
    throw new DumpError(`${folder}: ${message(error)}`)
  }
  let byteCount = 0
  const dumps = names.toSorted().map(name => {
    const path = join(folder, name)
    try {
      const { size } = statSync(path)
      byteCount += size
      if (size > fileBytesMax) fail(`file exceeds ${fileBytesMax} bytes`)
      if (byteCount > folderBytesMax) fail(`the folder exceeds ${folderBytesMax} bytes`)
      return parseDump(readFileSync(path, 'utf8'))
    } catch (error) {
      throw new DumpError(`${path}: ${message(error)}`)
    }
  })
  // The code of a program is in a second account, which must be loaded before the program.
  return dumps.toSorted((a, b) => Number(a.state.executable) - Number(b.state.executable))
}
