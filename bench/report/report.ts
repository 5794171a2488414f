/** One number of a run. */
export type Figure = {
  /** Stands for the figure in the baseline: do not rename without need. */
  readonly name: string
  readonly value: number
  readonly unit: string
  /** Which way is good. */
  readonly better: 'higher' | 'lower'
  /** Target of docs/performance.md, where there is one. */
  readonly target?: number
  /** True for what a handful of samples decide: it is shown, and not compared. */
  readonly isTail?: boolean
  /** More of the same measurement; not compared. */
  readonly detail?: string
}

/** Figures by name, as stored in a file. */
export type Baseline = Readonly<Record<string, number>>

/**
 * Slower than this many times the baseline fails a run. Tighter bounds fail on any shared machine.
 */
const SLOWER_MAX = 3

/** Whether a figure meets its target; undefined where it has none. */
export const meetsTarget = ({ value, better, target }: Figure): boolean | undefined =>
  target === undefined ? undefined : better === 'higher' ? value >= target : value <= target

/** How many times worse than the baseline. */
const slowdown = (figure: Figure, before: number): number =>
  figure.better === 'higher' ? before / figure.value : figure.value / before

/** Figures that are much worse than the baseline, as sentences. */
export const regressions = (figures: readonly Figure[], baseline: Baseline): string[] =>
  figures.flatMap(figure => {
    const before = baseline[figure.name]
    if (before === undefined || figure.isTail === true) return []
    const times = slowdown(figure, before)
    // A figure that is no number has failed, too.
    return times <= SLOWER_MAX
      ? []
      : [`${figure.name}: ${format(figure.value)} ${figure.unit}, baseline ${format(before)}`]
  })

/** Whether a run fails. The figures of a quick run are too imprecise for targets. */
export const isFailed = (run: {
  readonly isQuick: boolean
  /** Figures that miss their targets. */
  readonly missed: number
  /** Figures much worse than the baseline. */
  readonly worse: number
}): boolean => run.worse > 0 || (!run.isQuick && run.missed > 0)

const format = (value: number): string =>
  Math.abs(value) >= 1_000
    ? Math.round(value).toLocaleString('en-US')
    : value
        .toPrecision(3)
        .replace(/(\.\d*?)0+$/, '$1')
        .replace(/\.$/, '')

const formatTarget = (figure: Figure): string => {
  const sign = figure.better === 'higher' ? '≥' : '≤'
  const verdict = meetsTarget(figure) === true ? 'met' : 'MISSED'
  return figure.target === undefined ? '' : `target ${sign} ${format(figure.target)}: ${verdict}`
}

/** One line of the report. */
export const formatFigure = (figure: Figure): string => {
  const value = `${format(figure.value).padStart(9)} ${figure.unit.padEnd(11)}`
  return `  ${figure.name.padEnd(46)} ${value} ${figure.detail ?? formatTarget(figure)}`.trimEnd()
}

/** What a server takes of the processor for a request. */
export const formatCpuTime = (name: string, userMicros: number, systemMicros: number): string =>
  `${name}: ${format(userMicros)} µs user and ${format(systemMicros)} µs system time per request`

/** The middle one; the upper of the two where their number is even. */
export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN
