import { setTimeout as sleep } from 'node:timers/promises'
import type { LimitTable } from '../../access/limiter/limit-table.js'
import { randomBase62, type RandomBytes } from '../../access/tokens/location-token.js'
import type { Log } from '../../shared/log.js'
import type { Etcd, KeyValue } from '../etcd/client.js'
import type { Keys } from '../keys.js'
import type { Options } from '../options.js'
import { formatUse, parseUse } from './machine-use.js'
import { OthersUse, type Report } from './others-use.js'
import { OwnUse } from './own-use.js'

const INSTANCE_CHARS = 8
/** How often debts are charged: more often than a charge of the limit table lasts. */
export const DEBT_MS = 200
/** Machines in one answer of etcd. */
const PAGE_MACHINES = 16

export type UseExchangeParts = {
  readonly etcd: Etcd
  readonly keys: Keys
  readonly machine: string
  /** When the machine was added: one that was removed reports nothing. */
  readonly machineCreated: number
  readonly table: LimitTable
  readonly options: Options
  readonly logger: Log
  readonly randomBytes: RandomBytes
  /** Unix milliseconds, as the edges read them. */
  readonly now: () => number
}

/**
 * Reports what accesses have in use on this machine, and charges its limits with what they have in
 * use on others, so that the limits of an access hold over all machines of the cluster.
 */
export class UseExchange {
  private readonly parts: UseExchangeParts
  private readonly instance: string
  private readonly own: OwnUse
  private readonly others: OthersUse
  private readonly stopping = new AbortController()
  private readonly malformed = new Set<string>()
  private running = Promise.resolve()
  private isEmpty = false
  /** It has been logged that etcd does not take the report. */
  private isFailing = false

  constructor(parts: UseExchangeParts) {
    const { table, options, randomBytes } = parts
    this.parts = parts
    this.instance = randomBase62(INSTANCE_CHARS, randomBytes)
    this.own = new OwnUse(table, options.usedAccessesMax)
    this.others = new OthersUse(table, options)
  }

  start(): void {
    this.running = this.run()
  }

  async stop(): Promise<void> {
    this.stopping.abort()
    await this.running
  }

  private async run(): Promise<void> {
    const { options, now } = this.parts
    const { signal } = this.stopping
    let dueMs = 0
    let exchanging: Promise<void> | undefined
    while (!signal.aborted) {
      if (now() >= dueMs && exchanging === undefined) {
        dueMs = now() + options.beatMs
        exchanging = this.tryExchange().finally(() => (exchanging = undefined))
      }
      // Debts are charged although etcd takes long to answer.
      this.others.pay(now())
      await sleep(DEBT_MS, undefined, { signal }).catch(() => {})
    }
    await exchanging
  }

  /** Nothing is lost by a failure: totals are reported again. */
  private async tryExchange(): Promise<void> {
    try {
      await this.exchange()
      this.isFailing = false
    } catch (error) {
      if (!this.isFailing && !this.stopping.signal.aborted)
        this.parts.logger.warn({ err: error }, 'the use of accesses cannot be exchanged')
      this.isFailing = true
    }
  }

  private async exchange(): Promise<void> {
    const { etcd, keys, machine, machineCreated, now } = this.parts
    const accesses = this.own.take(now())
    // An empty report is made once: it ends all that was in use before.
    if (accesses.length > 0 || !this.isEmpty) {
      const put = {
        put: keys.use(machine),
        value: formatUse({ instance: this.instance, accesses }),
      }
      await etcd.transact([{ key: keys.machine(machine), createRevision: machineCreated }], [put])
      this.isEmpty = accesses.length === 0
    }
    const { found } = await etcd.list(keys.uses, { limit: PAGE_MACHINES })
    const reports = found
      .filter(({ key }) => key !== keys.use(machine))
      .flatMap(each => this.parse(each) ?? [])
    this.others.apply(reports, now())
  }

  private parse({ key, value, modRevision }: KeyValue): Report | undefined {
    const machine = key.slice(this.parts.keys.uses.length)
    try {
      return { machine, revision: modRevision, ...parseUse(value) }
    } catch (error) {
      if (!this.malformed.has(machine))
        this.parts.logger.warn({ err: error, machine }, 'the report of a machine cannot be read')
      this.malformed.add(machine)
      return undefined
    }
  }
}
