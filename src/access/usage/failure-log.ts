import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { sharedCells } from '../../native/os.js'
import { redactTokens } from '../../shared/log.js'
import type { Place } from './layout.js'
import { FAILURE_ORIGINS, type FailureOrigin } from './meter.js'
import type { Options } from './options.js'

/** A request that failed. */
export type FailedRequest = {
  readonly atMs: number
  readonly network: string
  readonly location: string
  readonly method: string
  /** Of the JSON-RPC error, or the status of the answer. */
  readonly code: number
  readonly text: string
  readonly origin: FailureOrigin
  readonly address: string
}

/** Newest entries of an access. */
export const FAILURES_MAX = 1_000

/**
 * One file of `edges/<n>/failures/` for each access: how many were ever written (8 bytes), how many
 * were left out (8), then a ring of entries: time (8 bytes), code (4), lengths of the texts (2
 * each), origin (1), and from byte 24 the texts: network, location, method, address, text.
 */
const WRITTEN = 0
const LEFT_OUT = 1
const HEAD_BYTES = 16
const ENTRY_BYTES = 688
const CODE_AT = 8
const LENGTHS_AT = 12
const ORIGIN_AT = 22
const TEXTS_AT = 24
const BYTES_MAX = { network: 32, location: 32, method: 39, address: 48, text: 512 } as const
const TEXTS = Object.keys(BYTES_MAX) as (keyof typeof BYTES_MAX)[]
const LOG_CELLS = (HEAD_BYTES + FAILURES_MAX * ENTRY_BYTES) / 8

const entryAt = (number: number): number => HEAD_BYTES + (number % FAILURES_MAX) * ENTRY_BYTES

/** The failed requests of one access at one edge, in a file that outlives the edge. */
class FailureLog {
  readonly #cells: Float64Array
  readonly #bytes: Buffer
  readonly #perSecondMax: number
  /** Entries that may be written now. */
  #left = FAILURES_MAX
  #filledMs = 0

  constructor(path: string, perSecondMax: number) {
    this.#cells = sharedCells(path, LOG_CELLS)
    this.#bytes = Buffer.from(this.#cells.buffer, this.#cells.byteOffset, LOG_CELLS * 8)
    this.#perSecondMax = perSecondMax
  }

  /** Whether an entry may be written; one that may not is counted as left out. */
  takes(nowMs: number): boolean {
    const elapsedMs = Math.max(0, nowMs - this.#filledMs)
    this.#filledMs = nowMs
    this.#left = Math.min(FAILURES_MAX, this.#left + (elapsedMs * this.#perSecondMax) / 1_000)
    if (this.#left >= 1) {
      this.#left--
      return true
    }
    this.#cells[LEFT_OUT] = (this.#cells[LEFT_OUT] ?? 0) + 1
    return false
  }

  write(failure: FailedRequest): void {
    const number = this.#cells[WRITTEN] ?? 0
    const at = entryAt(number)
    const bytes = this.#bytes
    bytes.fill(0, at, at + ENTRY_BYTES)
    bytes.writeDoubleLE(failure.atMs, at)
    bytes.writeInt32LE(failure.code, at + CODE_AT)
    bytes[at + ORIGIN_AT] = FAILURE_ORIGINS.indexOf(failure.origin)
    let textAt = at + TEXTS_AT
    for (const [index, name] of TEXTS.entries()) {
      // Whole characters only.
      const length = bytes.write(failure[name], textAt, BYTES_MAX[name], 'utf8')
      bytes.writeUInt16LE(length, at + LENGTHS_AT + 2 * index)
      textAt += length
    }
    this.#cells[WRITTEN] = number + 1
  }
}

type LogOptions = Pick<Options, 'failureLogsMax' | 'failuresPerSecondMax'>

/** The failed requests at one edge, by access. The edge is the only writer. */
export class FailureLogs {
  readonly #dir: string
  readonly #options: LogOptions
  readonly #onFault: (fault: unknown) => void
  readonly #logs = new Map<string, FailureLog>()
  /** Names of the files, the least recently opened one first. */
  readonly #files: Set<string>

  constructor(dir: string, options: LogOptions, onFault: (fault: unknown) => void) {
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    this.#dir = dir
    this.#options = options
    this.#onFault = onFault
    const atMs = (name: string): number => statSync(join(dir, name)).mtimeMs
    const files = readdirSync(dir).map(name => ({ name, atMs: atMs(name) }))
    this.#files = new Set(files.toSorted((a, b) => a.atMs - b.atMs).map(({ name }) => name))
  }

  /** `addressOf` is called where the failure is written. */
  add(
    { accessId, network, location }: Place,
    failure: Pick<FailedRequest, 'method' | 'code' | 'text' | 'origin'>,
    addressOf: () => string,
    nowMs: number,
  ): void {
    try {
      const log = this.#logs.get(accessId) ?? this.#open(accessId)
      if (!log.takes(nowMs)) return
      // Clients and upstreams choose both.
      const method = redactTokens(failure.method.slice(0, BYTES_MAX.method))
      const text = redactTokens(failure.text.slice(0, BYTES_MAX.text))
      log.write({ ...failure, method, text, network, location, atMs: nowMs, address: addressOf() })
    } catch (fault) {
      // A full disk must not refuse requests.
      this.#onFault(fault)
    }
  }

  #open(accessId: string): FailureLog {
    this.#files.delete(accessId)
    for (const name of this.#files) {
      if (this.#files.size < this.#options.failureLogsMax) break
      this.#files.delete(name)
      this.#logs.delete(name)
      rmSync(join(this.#dir, name), { force: true })
    }
    const log = new FailureLog(join(this.#dir, accessId), this.#options.failuresPerSecondMax)
    this.#files.add(accessId)
    this.#logs.set(accessId, log)
    return log
  }
}

const readEntry = (bytes: Buffer, at: number): FailedRequest => {
  let textAt = at + TEXTS_AT
  const next = (index: number): string => {
    const end = textAt + bytes.readUInt16LE(at + LENGTHS_AT + 2 * index)
    const text = bytes.toString('utf8', textAt, end)
    textAt = end
    return text
  }
  return {
    atMs: bytes.readDoubleLE(at),
    code: bytes.readInt32LE(at + CODE_AT),
    origin: FAILURE_ORIGINS[bytes[at + ORIGIN_AT] ?? 0] ?? 'service',
    network: next(0),
    location: next(1),
    method: next(2),
    address: next(3),
    text: next(4),
  }
}

/** Failed requests, newest first. */
export type Failures = {
  readonly failures: readonly FailedRequest[]
  /** Those that came faster than they are written. */
  readonly leftOut: number
}

/** Adds up what edges or machines have. */
export const mergeFailures = (all: readonly Failures[], limit: number): Failures => ({
  failures: all
    .flatMap(({ failures }) => failures)
    .toSorted((one, other) => other.atMs - one.atMs)
    .slice(0, limit),
  leftOut: all.reduce((sum, { leftOut }) => sum + leftOut, 0),
})

/** The failures of one file; none where there is no file. */
export const readFailureLog = (path: string): Failures => {
  try {
    const bytes = readFileSync(path)
    if (bytes.length < LOG_CELLS * 8) return { failures: [], leftOut: 0 }
    const written = bytes.readDoubleLE(WRITTEN * 8)
    const failures = Array.from({ length: Math.min(written, FAILURES_MAX) }, (_, index) =>
      readEntry(bytes, entryAt(written - 1 - index)),
    )
    return { failures, leftOut: bytes.readDoubleLE(LEFT_OUT * 8) }
  } catch {
    return { failures: [], leftOut: 0 }
  }
}
