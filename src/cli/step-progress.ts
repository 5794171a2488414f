import type { BootstrapStatus } from '../shared/indexer-status.js'
import { createProgress, type Progress } from './progress.js'

/** Shows the progress of a bootstrap, with a line for each step. */
export class StepProgressLines {
  private readonly network: string
  private step = ''
  private unit = ''
  private progress: Progress | undefined

  constructor(network: string) {
    this.network = network
  }

  show(status: BootstrapStatus): void {
    if (this.step !== status.step) {
      this.end()
      this.step = status.step
      this.unit = ''
      process.stderr.write(`${this.network}: ${this.step}\n`)
    }
    const { progress: at } = status
    if (at === undefined) return
    if (this.unit !== at.unit) {
      // A load counts bytes and then rows, which have another rate.
      this.end()
      this.unit = at.unit
      this.progress = createProgress(at.unit)
    }
    this.progress?.show(at.done, at.total, `${this.network}, ${this.step}, ${at.detail}`)
  }

  end(): void {
    this.progress?.end()
    this.progress = undefined
  }
}
