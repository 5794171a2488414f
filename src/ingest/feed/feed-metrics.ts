import type { Metrics } from '../../shared/metrics.js'
import type { CommittedBlock } from './source.js'

/** Metrics of a network's feed. */
export class FeedMetrics {
  private readonly metrics: Metrics
  private readonly network: string
  private readonly slot
  private readonly lag
  private readonly buffered
  private readonly health
  private readonly source
  private readonly blocks
  private readonly accounts
  private readonly byBank
  private readonly dropped
  private readonly footers
  private readonly applyTime
  private isReplaying = false

  constructor(metrics: Metrics, network: string) {
    this.metrics = metrics
    this.network = network
    this.slot = metrics.gauge('tipSlot', { network })
    this.lag = metrics.gauge('feedLag', { network })
    this.buffered = metrics.gauge('feedBuffer', { network })
    this.health = metrics.gauge('feedHealthy', { network })
    this.source = metrics.gauge('feedSource', { network })
    this.blocks = metrics.counter('blocksApplied', { network })
    this.accounts = metrics.counter('accountsApplied', { network })
    this.byBank = metrics.gauge('feedByBank', { network })
    this.dropped = metrics.counter('feedDropped', { network })
    this.footers = metrics.gauge('feedFooters', { network })
    // A stream that a bootstrap hands over was opened before.
    this.footers.set(1)
    this.applyTime = metrics.histogram('applySeconds', { network })
  }

  onCommitted(block: CommittedBlock): void {
    const { accountCount, applyMicros, bufferedBytes, lagMs, slot } = block
    this.slot.set(slot)
    if (lagMs !== undefined) this.lag.set(lagMs / 1_000)
    this.buffered.set(bufferedBytes)
    this.blocks.add(1)
    this.accounts.add(accountCount)
    this.byBank.set(block.isByBank ? 1 : 0)
    this.dropped.add(block.droppedCount)
    this.applyTime.observe(applyMicros / 1_000_000)
  }

  onHealth(isHealthy: boolean): void {
    this.health.set(isHealthy ? 1 : 0)
  }

  onFooters(areRequested: boolean): void {
    this.footers.set(areRequested ? 1 : 0)
  }

  onSource(index: number): void {
    this.source.set(index)
  }

  /** A step of a repair, or undefined at its end. */
  onRepair(step: string | undefined): void {
    // A replay is reported again with each reason that it fails for.
    if (step !== undefined && !(step === 'replay' && this.isReplaying))
      this.metrics.counter('repairs', { network: this.network, step }).add(1)
    this.isReplaying = step === 'replay'
  }
}
