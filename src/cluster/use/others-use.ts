import type { LimitTable } from '../../access/limiter/limit-table.js'
import type { AccessUse, MachineUse } from './machine-use.js'

/** What another machine reported, and when it was first seen. */
export type Report = { readonly machine: string; readonly revision: number } & MachineUse

type Known = {
  readonly revision: number
  readonly seenMs: number
  readonly instance: string
  readonly accesses: ReadonlyMap<bigint, AccessUse>
}

/** What an access has in use on all other machines. */
type InUse = Pick<AccessUse, 'key' | 'requestsInFlight' | 'sockets'>

export type OthersUseOptions = {
  /** A machine that reports nothing new for this time has nothing in use. */
  readonly leaseMs: number
  /** Longest debt of an access to other machines, as time at its rate. */
  readonly debtMsMax: number
}

/**
 * Charges the limits of this machine with what other machines report. Requests are charged once
 * each, although the burst is used up: such a debt is kept here and charged as far as the limit
 * table takes it.
 */
export class OthersUse {
  private readonly table: LimitTable
  private readonly options: OthersUseOptions
  private readonly machines = new Map<string, Known>()
  /** What accesses owe, in milliseconds of their rates. */
  private readonly owedMs = new Map<bigint, number>()
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
    for (const [key, owedMs] of this.owedMs) {
      const leftMs = this.table.charge(key, owedMs, nowMs)
      if (leftMs === 0) this.owedMs.delete(key)
      else this.owedMs.set(key, leftMs)
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
    const costMs = requests > 0 ? this.table.costMs(key, requests) : 0
    if (costMs === 0) return
    const owedMs = (this.owedMs.get(key) ?? 0) + costMs
    this.owedMs.set(key, Math.min(owedMs, this.options.debtMsMax))
  }

  private setUtilisation(nowMs: number): void {
    const sums = new Map<bigint, InUse>()
    for (const { seenMs, accesses } of this.machines.values()) {
      if (nowMs - seenMs > this.options.leaseMs) continue
      for (const { key, requestsInFlight, sockets } of accesses.values()) {
        const sum = sums.get(key)
        sums.set(key, {
          key,
          requestsInFlight: (sum?.requestsInFlight ?? 0) + requestsInFlight,
          sockets: (sum?.sockets ?? 0) + sockets,
        })
      }
    }
    this.table.setOthers([...sums.values()])
  }
}
