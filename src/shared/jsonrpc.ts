import { isUtf8 } from 'node:buffer'
import { RpcError } from './errors.js'
import { COMMA, END, JsonScanner, OPEN_ARRAY, OPEN_OBJECT, STRING } from './json-scanner.js'

/**
 * A request id as its raw JSON token (`"a"`, `1.0`, `18446744073709551615`, `null`), which the
 * reply repeats unchanged.
 */
export type Id = string

/** Unchecked parameters; absent ones and `null` are an empty array. */
export type Params = readonly unknown[] | Readonly<Record<string, unknown>>

/** One well-formed call. Without an id it is a notification, which is never answered. */
export type Call = { readonly id: Id | undefined; readonly method: string; readonly params: Params }

/** The error that answers a malformed call. */
export type Refusal = { readonly id: Id; readonly error: RpcError }

/** A whole message: one call, or a batch of them. */
export type Message = Call | Refusal | readonly (Call | Refusal)[]

/** Bounds of a message. */
export type MessageLimits = {
  /** Elements of a batch. */
  readonly batchCountMax: number
  /** Arrays and objects inside each other. */
  readonly nestingMax: number
  /** Elements of all arrays and members of all objects; unbounded where it is absent. */
  readonly elementsMax?: number
}

/** A message within its bounds whose text is not parsed yet. */
export type ScannedMessage = {
  readonly text: string
  readonly isBatch: boolean
  /** Calls of the message. The text need not be JSON. */
  readonly callCount: number
  /** The raw id of each call that is an object or an array, in order. */
  readonly ids: readonly (Id | undefined)[]
}

const NO_ID = 'null'
const NO_PARAMS: readonly unknown[] = []
const PARSE_ERROR: Refusal = { id: NO_ID, error: new RpcError('parseError') }
const INVALID_REQUEST = new RpcError('invalidRequest')
/** The answer to an element of a batch that is no object, or whose id is none. */
const NOT_A_CALL: Refusal = { id: NO_ID, error: INVALID_REQUEST }
const UNSUPPORTED_VERSION = new RpcError('unsupportedVersion')

/** True for a batch, which is answered by an array. */
export const isBatch = (message: Message): message is readonly (Call | Refusal)[] =>
  Array.isArray(message)

/** True for the error of a malformed call. */
export const isRefusal = (call: Call | Refusal): call is Refusal => 'error' in call

/**
 * Parses a message as Agave does. Text that is not JSON, or JSON that cannot be a call (a number,
 * an id that is an object), is -32700 as a whole; a call with an invalid member is -32600 with its
 * own id. In a batch what cannot be a call is -32600 with the id `null` in its place (JSON-RPC 2.0
 * §6).
 */
export const parseMessage = (body: Uint8Array, limits: MessageLimits): Message => {
  const scanned = scanMessage(body, limits)
  return 'error' in scanned ? scanned : parseScanned(scanned)
}

/** Checks the bounds of a message in one pass, before `JSON.parse` allocates anything. */
export const scanMessage = (body: Uint8Array, limits: MessageLimits): ScannedMessage | Refusal => {
  if (!isUtf8(body)) return PARSE_ERROR
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString()
  const scanned = scanText(text, limits)
  return scanned instanceof RpcError ? { id: NO_ID, error: scanned } : scanned
}

/** The id to answer a call with whose message is not parsed; undefined for a notification. */
export const unparsedId = (id: Id | undefined): Id | undefined => {
  if (id === undefined || id === NO_ID) return id
  const value = parseJson(id)
  return typeof value === 'string' || typeof value === 'number' ? id : NO_ID
}

/** Parses a message that was scanned. */
export const parseScanned = ({ text, ids }: ScannedMessage): Message => {
  const value = parseJson(text)
  if (!Array.isArray(value)) {
    return isRecord(value) && hasReadableId(value) ? toCall(value, ids[0]) : PARSE_ERROR
  }
  // JSON-RPC 2.0 §6 asks for this reply; Agave sends an empty body, which no client can read.
  if (value.length === 0) return NOT_A_CALL
  const calls: (Call | Refusal)[] = []
  const elements: readonly unknown[] = value
  let bracketed = 0
  for (const element of elements) {
    // Only objects and arrays have an entry in `ids`.
    const id = typeof element === 'object' && element !== null ? ids[bracketed++] : undefined
    const isReadable = isRecord(element) && hasReadableId(element)
    calls.push(isReadable ? toCall(element, id) : NOT_A_CALL)
  }
  return calls
}

/** A whole error reply. */
export const formatError = (id: Id, error: RpcError): string => {
  const fields = { code: error.row.code, message: error.message, data: error.data }
  return `{"jsonrpc":"2.0","error":${JSON.stringify(fields)},"id":${id}}`
}

/** Text before a result in its reply. */
export const RESULT_PREFIX = '{"jsonrpc":"2.0","result":'

/** Text after a result in its reply. */
export const formatResultSuffix = (id: Id): string => `,"id":${id}}`

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const hasReadableId = ({ id }: { readonly id?: unknown }): boolean =>
  typeof id === 'number' || typeof id === 'string' || id === null || id === undefined

const MEMBERS: ReadonlySet<string> = new Set(['jsonrpc', 'id', 'method', 'params'])

const toCall = (value: Readonly<Record<string, unknown>>, id: Id | undefined): Call | Refusal => {
  const { jsonrpc = null, method, params = null } = value
  const isCall =
    typeof method === 'string' &&
    typeof params === 'object' &&
    (jsonrpc === '2.0' || jsonrpc === null) &&
    Object.keys(value).every(member => MEMBERS.has(member))
  if (!isCall) return { id: id ?? NO_ID, error: INVALID_REQUEST }
  if (jsonrpc === null && id !== undefined) return { id, error: UNSUPPORTED_VERSION }
  return { id, method, params: params === null ? NO_PARAMS : (params as Params) }
}

/**
 * The raw id of each object that is the message, or an element of it, in order. The text need not
 * be JSON: the ids mean nothing then. As in JSON.parse the last of repeated members wins.
 */
const scanText = (text: string, limits: MessageLimits): ScannedMessage | RpcError => {
  const { batchCountMax, nestingMax, elementsMax = Infinity } = limits
  const isArray = /^[\t\n\r ]*\[/.test(text)
  const memberDepth = isArray ? 2 : 1
  const ids: (Id | undefined)[] = []
  const scanner = new JsonScanner(text)
  let id: Id | undefined
  let idStringIndex = -1
  let commaCount = 0
  let elementCount = 0
  // Read only at `memberDepth`, where a string after `{` or `,` is the name of a member.
  let isName = false
  for (let token = scanner.next(); token !== END; token = scanner.next()) {
    const { index, end, depth } = scanner
    switch (token) {
      case STRING:
        if (index === idStringIndex) id = text.slice(index, end + 1)
        else if (isName && depth === memberDepth && isIdName(text, index, end)) {
          id = scalarAfter(text, end)
          idStringIndex = id === '' ? SCALAR.lastIndex : -1
        }
        isName = false
        break
      case COMMA:
        isName = true
        if (isArray && depth === 1 && ++commaCount >= batchCountMax)
          return new RpcError('batchTooLong', { max: batchCountMax })
        if (++elementCount > elementsMax) return tooWide(elementsMax)
        break
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        isName = true
        if (depth > nestingMax) return PARSE_ERROR.error
        if (++elementCount > elementsMax) return tooWide(elementsMax)
        break
      default:
        if (depth === memberDepth - 1) {
          ids.push(id)
          id = undefined
        }
    }
  }
  return { text, isBatch: isArray, callCount: isArray ? commaCount + 1 : 1, ids }
}

const tooWide = (max: number): RpcError => new RpcError('messageTooWide', { max })

/** True for the name `"id"`, however its letters are escaped. */
const isIdName = (text: string, open: number, end: number): boolean => {
  const name = text.slice(open, end + 1)
  return name === '"id"' || (name.includes('\\') && parseJson(name) === 'id')
}

// A value ends where a token of the scanner begins: so no character is read for two names.
const SCALAR = /[\t\n\r ]*:[\t\n\r ]*([^\t\n\r ,"[\]{}]*)/y

/**
 * The scalar after the name of a member that ends at `end`; empty for another value, which begins
 * at `SCALAR.lastIndex`.
 */
const scalarAfter = (text: string, end: number): string | undefined => {
  SCALAR.lastIndex = end + 1
  return SCALAR.exec(text)?.[1]
}
