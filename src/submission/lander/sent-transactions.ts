import { createHash } from 'node:crypto'
import type { EngineAnswer } from '../relay/engine-answer.js'
import { NotBegun, type SendResult } from '../single-flight.js'
import { toAbandoned } from '../store/state.js'
import { isTransactionRoute, type Submission } from '../store/submission.js'

/**
 * How long a transaction is remembered. 150 blocks of 400 ms take 60 s, and longer where slots are
 * skipped; a durable nonce has no end.
 */
export const REMEMBERED_MS = 90_000
/** Of all that is remembered: half an hour of 30 transactions a second, or 90 s of 1,000. */
const BYTES_MAX = 64 * 1024 ** 2
/** Of one transaction, beside the texts of its answer. */
const ENTRY_BYTES = 512

/** The answer to a transaction of `/send` or `/race`. */
export type SentAnswer = {
  readonly sent: EngineAnswer
  /** It was sent before, by a request of the same access. */
  readonly isRepeat: boolean
  /** What is known of the findings, where it is a repeat. */
  readonly findings?: string | undefined
}

/** A transaction that may have been sent before. */
export type SentTransaction = {
  readonly network: string
  readonly accessId: string
  readonly signature: string
  readonly bytes: Uint8Array
}

/** `ended`: nothing was sent. */
type Sending = Promise<EngineAnswer | 'ended'>

type Entry = {
  readonly endMs: number
  readonly sending: Sending
  bytes: number
  answer: EngineAnswer | undefined
  findings: string | undefined
}

/** An entry whose answer is known, as one sender tells it to the next. */
export type RememberedTransaction = {
  readonly accessId: string
  readonly key: string
  readonly answer: EngineAnswer
  readonly findings?: string | undefined
  readonly leftMs: number
}

/** Outcomes after which the same transaction is not sent again. */
const FINAL: ReadonlySet<Submission['outcome']> = new Set(['accepted', 'refused', 'unknown'])
/** Of a sender that was killed: the bytes are not known, and a refusal may be of others. */
const RECOVERED: ReadonlySet<Submission['outcome']> = new Set(['accepted', 'unknown'])

/** Begins the keys of transactions that one sender tells the next are in flight. */
const IN_FLIGHT = 'send '

const keyOf = ({ network, bytes }: SentTransaction): string =>
  createHash('sha256').update(`${network} `).update(bytes).digest('base64')

const recoveredKey = (network: string, signature: string): string => `${network} ${signature}`

/** Of what is known of one lane, beside its words. */
const LANE_BYTES = 256

const lengthOf = ({ result, error, engine, lanes = [] }: EngineAnswer): number =>
  2 * ((result?.length ?? 0) + (error?.length ?? 0) + (engine?.words.length ?? 0)) +
  lanes.reduce((sum, { words = '' }) => sum + LANE_BYTES + 2 * words.length, 0)

export type SentParts = {
  /** Whether this process begins what is new. */
  readonly mayBegin: () => boolean
  /** Monotonic milliseconds. */
  readonly now: () => number
  readonly bytesMax?: number
}

/** The transactions of each access that were sent while their blockhash lives: each only once. */
export class SentTransactions {
  private readonly parts: SentParts
  /** By access, then by key, oldest first. */
  private readonly accesses = new Map<string, { bytes: number; entries: Map<string, Entry> }>()
  private others: IterableIterator<string> = this.accesses.keys()
  private bytes = 0

  constructor(parts: SentParts) {
    this.parts = parts
  }

  /** Sends a transaction, or gives the answer to the same one. Throws NotBegun where it may not. */
  async run(
    transaction: SentTransaction,
    start: (onFindings: (findings: string) => void) => Sending,
  ): Promise<SentAnswer | 'ended'> {
    const { accessId, network, signature } = transaction
    const key = keyOf(transaction)
    for (;;) {
      this.expire(accessId)
      const known =
        this.find(accessId, key) ?? this.find(accessId, recoveredKey(network, signature))
      if (known === undefined) break
      // oxlint-disable-next-line no-await-in-loop
      const sent = await known.sending
      // An access that has ended since says nothing about this request of it.
      if (sent !== 'ended') return { sent, isRepeat: true, findings: known.findings }
    }
    if (!this.parts.mayBegin()) throw new NotBegun()
    const entry: { current?: Entry } = {}
    let told: string | undefined
    const sending = start(findings => {
      if (entry.current === undefined) told = findings
      else entry.current.findings = findings
    })
    entry.current = this.add(accessId, key, sending)
    entry.current.findings ??= told
    const sent = await sending
    return sent === 'ended' ? sent : { sent, isRepeat: false }
  }

  /** What a sender that was killed has sent, as its record says. */
  recover(submission: Submission): void {
    const { accessId, network, outcome, route, signatures, ...of } = toAbandoned(submission)
    const [signature] = signatures
    const isOther = !isTransactionRoute(route)
    if (isOther || signature === undefined || !RECOVERED.has(outcome)) return
    // A repeat that was lost says nothing about the first.
    const former = this.find(accessId, recoveredKey(network, signature))
    if (former?.answer?.outcome === 'accepted') return
    const { result, error, engine, lanes } = of
    const ended = Promise.resolve({ outcome, result, error, engine, lanes })
    this.add(accessId, recoveredKey(network, signature), ended)
  }

  /** Those without an answer, and how each ends, for the next sender. */
  inFlight(): readonly (readonly [key: string, result: Promise<SendResult>])[] {
    const all: [string, Promise<SendResult>][] = []
    for (const [accessId, { entries }] of this.accesses)
      for (const [key, { answer, sending }] of entries) {
        if (answer !== undefined) continue
        const toResult = (sent: EngineAnswer | 'ended'): SendResult =>
          sent === 'ended'
            ? 'full'
            : { ending: { ...sent, forwardedAtMs: null, answeredAtMs: null }, joined: null }
        all.push([`${IN_FLIGHT}${JSON.stringify([accessId, key])}`, sending.then(toResult)])
      }
    return all
  }

  /** Takes over what another sender has in flight; false where that is no transaction. */
  adopt(name: string, result: Promise<SendResult>): boolean {
    if (!name.startsWith(IN_FLIGHT)) return false
    const [accessId, key] = JSON.parse(name.slice(IN_FLIGHT.length)) as [string, string]
    const unknown = { outcome: 'unknown', result: null, error: null, engine: null } as const
    const sending = result.then((ended): EngineAnswer | 'ended' => {
      if (ended === 'full') return 'ended'
      if (ended === 'unknown') return unknown
      const { outcome, result: told, error, engine, lanes } = ended.ending
      return { outcome, result: told, error, engine, lanes }
    })
    this.add(accessId, key, sending)
    return true
  }

  /** Those that are answered, for the next sender. */
  *remembered(): Generator<RememberedTransaction> {
    const nowMs = this.parts.now()
    for (const [accessId, { entries }] of this.accesses)
      for (const [key, { answer, endMs, findings }] of entries)
        if (answer !== undefined && endMs > nowMs)
          yield { accessId, key, answer, findings, leftMs: endMs - nowMs }
  }

  remember({ accessId, key, answer, findings, leftMs }: RememberedTransaction): void {
    const entry = this.add(accessId, key, Promise.resolve(answer), leftMs)
    entry.findings = findings
  }

  private find(accessId: string, key: string): Entry | undefined {
    return this.accesses.get(accessId)?.entries.get(key)
  }

  private add(accessId: string, key: string, sending: Sending, leftMs = REMEMBERED_MS): Entry {
    const entry: Entry = {
      endMs: this.parts.now() + leftMs,
      sending,
      bytes: ENTRY_BYTES,
      answer: undefined,
      findings: undefined,
    }
    const former = this.find(accessId, key)
    if (former !== undefined) this.remove(accessId, key, former)
    const known = this.accesses.get(accessId) ?? { bytes: 0, entries: new Map<string, Entry>() }
    this.accesses.set(accessId, known)
    known.entries.set(key, entry)
    this.grow(known, ENTRY_BYTES)
    const forget = (): void => this.remove(accessId, key, entry)
    sending.then(sent => {
      // A transaction that nobody took is a new one when it comes again.
      if (sent === 'ended' || !FINAL.has(sent.outcome)) return forget()
      entry.answer = sent
      if (known.entries.get(key) !== entry) return
      const bytes = lengthOf(sent)
      entry.bytes += bytes
      this.grow(known, bytes)
    }, forget)
    return entry
  }

  private grow(of: { bytes: number }, bytes: number): void {
    of.bytes += bytes
    this.bytes += bytes
    const { bytesMax = BYTES_MAX } = this.parts
    while (this.bytes > bytesMax && this.forgetOne()) {
      // Until there is room.
    }
  }

  /** Forgets the oldest of the access that has most. */
  private forgetOne(): boolean {
    let most: string | undefined
    let bytesMost = 0
    for (const [accessId, { bytes }] of this.accesses)
      if (bytes > bytesMost) [most, bytesMost] = [accessId, bytes]
    if (most === undefined) return false
    const oldest = this.accesses.get(most)?.entries.entries().next().value
    if (oldest === undefined) return false
    this.remove(most, ...oldest)
    return true
  }

  /** Forgets what has expired: of this access, and of another one at each call. */
  private expire(accessId: string): void {
    const next = this.others.next()
    if (next.done === true) this.others = this.accesses.keys()
    else if (next.value !== accessId) this.expireOf(next.value)
    this.expireOf(accessId)
  }

  private expireOf(accessId: string): void {
    const nowMs = this.parts.now()
    for (const [key, entry] of this.accesses.get(accessId)?.entries ?? []) {
      if (entry.endMs > nowMs) return
      this.remove(accessId, key, entry)
    }
  }

  private remove(accessId: string, key: string, entry: Entry): void {
    const known = this.accesses.get(accessId)
    if (known?.entries.get(key) !== entry) return
    known.entries.delete(key)
    known.bytes -= entry.bytes
    this.bytes -= entry.bytes
    if (known.entries.size === 0) this.accesses.delete(accessId)
  }
}
