/** How often a line of a terminal is drawn anew, and how often a log gets a line. */
const TERMINAL_MS = 250
const LOG_MS = 10_000

export type Progress = {
  /** Shows where it is, if it is time to. A total of 0 is not known. */
  show(done: number, total: number, words: string): void
  /** Ends the line. */
  end(): void
}

type Output = Pick<NodeJS.WriteStream, 'write'> & { readonly isTTY?: boolean }

/** A time as people say it. */
export const formatDuration = (seconds: number): string => {
  const whole = Math.ceil(seconds)
  if (whole < 120) return `${whole} s`
  const minutes = Math.ceil(whole / 60)
  return minutes < 120 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/**
 * How far a command is: one line that is drawn anew on a terminal, a line now and then elsewhere.
 */
export const createProgress = (output: Output, unit: string, now: () => number): Progress => {
  const begunMs = now()
  const everyMs = output.isTTY ? TERMINAL_MS : LOG_MS
  let shownMs = begunMs
  let isDrawn = false
  return {
    show: (done, total, words) => {
      const atMs = now()
      if (atMs - shownMs < everyMs) return
      shownMs = atMs
      const rate = (done * 1_000) / (atMs - begunMs)
      const count = (number: number): string => Math.round(number).toLocaleString('en')
      const left = rate > 0 ? formatDuration(Math.max(0, total - done) / rate) : 'unknown'
      const percent = Math.min(99, Math.floor((done * 100) / total))
      const line =
        total > 0
          ? `${words}: ${percent} %, ${count(done)} of about ${count(total)} ${unit}, ` +
            `${count(rate)} ${unit}/s, ${left} left`
          : `${words}: ${count(done)} ${unit}, ${count(rate)} ${unit}/s`
      output.write(output.isTTY ? `\r\x1b[K${line}` : `${line}\n`)
      isDrawn = true
    },
    end: () => {
      if (isDrawn && output.isTTY) output.write('\r\x1b[K')
    },
  }
}
