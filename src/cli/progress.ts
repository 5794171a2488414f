import { SingleBar } from 'cli-progress'
import type { BootstrapStatus } from '../shared/indexer-status.js'
import { formatDuration } from './format-duration.js'

/** Redraws per second on a terminal, and the interval of lines on other outputs. */
const TERMINAL_FPS = 4
const LOG_INTERVAL_MS = 10_000

/** Shows the progress of a command on standard error. */
export type Progress = {
  /** A total of 0 is unknown. */
  show(done: number, total: number, label: string): void
  /** Removes the line from the terminal. `show` must not be called after it. */
  end(): void
}

type Output = Pick<NodeJS.WriteStream, 'write' | 'isTTY'>

type Sample = {
  readonly done: number
  readonly total: number
  readonly label: string
  readonly elapsedMs: number
}

const count = (number: number): string => Math.round(number).toLocaleString('en')

/** A shorter run gives no reliable rate. */
const RATE_MS_MIN = 100

/** One line, most important first, because a narrow terminal truncates it. */
const formatProgress = ({ done, elapsedMs, label, total }: Sample, unit: string): string => {
  const rate = elapsedMs >= RATE_MS_MIN ? (done * 1_000) / elapsedMs : 0
  if (total <= 0) return `${label}: ${count(done)} ${unit}, ${count(rate)} ${unit}/s`
  const left = rate > 0 ? formatDuration(Math.max(0, total - done) / rate) : 'unknown'
  const percent = Math.min(99, Math.floor((done * 100) / total))
  return (
    `${label}: ${percent} %, ${left} left, ${count(done)} of about ${count(total)} ${unit}, ` +
    `${count(rate)} ${unit}/s`
  )
}

const createTerminalLine = (stream: NodeJS.WriteStream, unit: string): Progress => {
  const startedMs = performance.now()
  let sample: Sample = { done: 0, total: 0, label: '', elapsedMs: 0 }
  let isStarted = false
  const bar = new SingleBar({
    stream,
    fps: TERMINAL_FPS,
    clearOnComplete: true,
    // Otherwise a killed command leaves the terminal without line wrapping.
    linewrap: true,
    format: () => formatProgress(sample, unit),
  })
  return {
    show: (done, total, label) => {
      sample = { done, total, label, elapsedMs: performance.now() - startedMs }
      if (isStarted) bar.update(done)
      else bar.start(total, done)
      isStarted = true
    },
    end: () => bar.stop(),
  }
}

const createLogLines = (output: Output, unit: string, now: () => number): Progress => {
  const startedMs = now()
  let writtenMs = startedMs
  return {
    show: (done, total, label) => {
      const atMs = now()
      if (atMs - writtenMs < LOG_INTERVAL_MS) return
      writtenMs = atMs
      const sample = { done, total, label, elapsedMs: atMs - startedMs }
      output.write(`${formatProgress(sample, unit)}\n`)
    },
    end: () => {},
  }
}

/** A line that is redrawn on a terminal; on other outputs a line every 10 s. */
export const createProgress = (
  unit: string,
  output: NodeJS.WriteStream = process.stderr,
  now: () => number = () => performance.now(),
): Progress => (output.isTTY ? createTerminalLine(output, unit) : createLogLines(output, unit, now))

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
