import { join } from 'node:path'
import type { SenderConfig } from '../config/child-config.js'
import { openReader, type Reader } from '../native/reader.js'
import type { Log } from '../shared/log.js'
import { currentGeneration, storesPath } from '../storage/generations.js'
import { toStoreOptions } from '../storage/store-options.js'
import type { OutcomeIndex } from '../submission/landing/landing-tracker.js'

/** How long an open store is taken for the live one. */
const FRESH_MS = 500

/** The live stores of all networks, in which landed transactions are looked for. */
export class OutcomeIndexes {
  private readonly config: SenderConfig
  private readonly log: Log
  private readonly silent: ReadonlySet<string>
  private readonly opened = new Map<string, { generation: string; reader: Reader; atMs: number }>()
  /** By network. */
  private readonly tipSlots = new Map<string, number>()
  private isClosed = false

  constructor(config: SenderConfig, log: Log) {
    this.config = config
    this.log = log
    const silent = config.networks.filter(({ feed }) => feed.transactions === 'none')
    this.silent = new Set(silent.map(({ id }) => id))
  }

  /** Undefined before the first block; `no-outcomes` if its feed has no transactions. */
  of(network: string): OutcomeIndex {
    if (this.silent.has(network)) return 'no-outcomes'
    const known = this.opened.get(network)
    if (this.isClosed || (known !== undefined && performance.now() - known.atMs < FRESH_MS))
      return known?.reader
    const stores = storesPath(this.config.dataDir, network)
    const generation = currentGeneration(stores)
    if (generation === undefined) return known?.reader
    if (known !== undefined && known.generation === generation) {
      known.atMs = performance.now()
      return known.reader
    }
    try {
      const options = toStoreOptions(this.config, network)
      const reader = openReader(join(stores, generation), options, this.config.pools)
      this.opened.set(network, { generation, reader, atMs: performance.now() })
      // Look-ups that run keep the former store open until they end.
      known?.reader.close()
      return reader
    } catch (error) {
      // It may have been replaced before it was opened; then the next call opens the new one.
      this.log.warn({ err: error, network, generation }, 'store cannot be opened')
      return known?.reader
    }
  }

  /** A block was committed. */
  onCommitted(network: string, slot: number): void {
    this.tipSlots.set(network, slot)
  }

  /** The newest slot of a network; undefined before the first block. */
  tipSlot(network: string): number | undefined {
    const known = this.tipSlots.get(network)
    if (known !== undefined) return known
    const index = this.of(network)
    const slot =
      typeof index === 'object' ? this.opened.get(network)?.reader.tip()?.slot : undefined
    if (slot !== undefined) this.tipSlots.set(network, slot)
    return slot
  }

  close(): void {
    this.isClosed = true
    for (const { reader } of this.opened.values()) reader.close()
    this.opened.clear()
  }
}
