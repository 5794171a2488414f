import { NO_ROW, type LimitTable, type Utilisation } from '../../access/limiter/limit-table.js'
import type { AccessUse, MachineUse } from './machine-use.js'

/** What another machine reported, and when it was first seen. */
export type Report = { readonly machine: string; readonly revision: number } & MachineUse

type Known = {
  readonly revision: number
  readonly seenMs: number
  readonly instance: string
  readonly accesses: ReadonlyMap<bigint, AccessUse>
}

export type OthersUseOptions = {
  /** A machine that reports nothing new for this time has nothing in use. */
  readonly leaseMs: number
  /** Longest debt of an access to other machines, as time at its rate. */
  readonly debtMsMax: number
}

const NS_PER_MS = 1_000_000n
const NOTHING: Utilisation = { requestsInFlight: 0, sockets: 0 }

/**
 * Charges the limits of this machine with what other machines report. Requests are charged once
 * each, although the burst is used up: such a debt is kept here and charged as far as the limit
 * table takes it.
 */
export class OthersUse {
  private readonly table: LimitTable
  private readonly options: OthersUseOptions
  private readonly machines = new Map<string, Known>()
  /** What accesses owe, in nanoseconds of their rates. */
  private readonly owed = new Map<bigint, bigint>()
  private isFirst = true

  constructor(table: LimitTable, options: OthersUseOptions) {
    this.table = table
    this.options = options
  }

  /** Takes over what all other machines report now. */
  apply(reports: readonly Report[], nowMs: number): void {
    for (const report of reports) this.applyReport(report, nowMs)
    this.isFirst = false
    const present = new Set(reports.map(({ machine }) => machine))
    for (const machine of this.machines.keys())
      if (!present.has(machine)) this.machines.delete(machine)
    this.setUtilisation(nowMs)
    this.pay(nowMs)
  }

  /** Charges as much of the debts as the limit table takes now. */
  pay(nowMs: number): void {
    const nowNs = BigInt(Math.round(nowMs)) * NS_PER_MS
    for (const [key, owedNs] of this.owed) {
      const row = this.table.find(key)
      // Without a row the whole burst is free here.
      const leftNs = row === NO_ROW ? 0n : this.table.charge(row, owedNs, nowNs)
      if (leftNs === 0n) this.owed.delete(key)
      else this.owed.set(key, leftNs)
    }
  }

  private applyReport({ machine, revision, instance, accesses }: Report, nowMs: number): void {
    const known = this.machines.get(machine)
    if (known?.revision === revision) return
    // What was used before this process began is no debt of its limits.
    if (!this.isFirst)
      for (const use of accesses) {
        const last = known?.instance === instance ? known.accesses.get(use.key) : undefined
        const before = last?.series === use.series ? last.requests : 0
        this.owe(use.key, use.requests - before)
      }
    this.machines.set(machine, {
      revision,
      seenMs: nowMs,
      instance,
      accesses: new Map(accesses.map(use => [use.key, use])),
    })
  }

  private owe(key: bigint, requests: number): void {
    const row = requests > 0 ? this.table.find(key) : NO_ROW
    if (row === NO_ROW) return
    const owedNs = (this.owed.get(key) ?? 0n) + this.table.costOf(row, requests)
    const mostNs = BigInt(this.options.debtMsMax) * NS_PER_MS
    this.owed.set(key, owedNs < mostNs ? owedNs : mostNs)
  }

  private setUtilisation(nowMs: number): void {
    const sums = new Map<bigint, Utilisation>()
    for (const { seenMs, accesses } of this.machines.values()) {
      if (nowMs - seenMs > this.options.leaseMs) continue
      for (const { key, requestsInFlight, sockets } of accesses.values()) {
        const sum = sums.get(key) ?? NOTHING
        sums.set(key, {
          requestsInFlight: sum.requestsInFlight + requestsInFlight,
          sockets: sum.sockets + sockets,
        })
      }
    }
    for (const [row, key] of this.table.assigned())
      this.table.setOthers(row, sums.get(key) ?? NOTHING)
  }
}
