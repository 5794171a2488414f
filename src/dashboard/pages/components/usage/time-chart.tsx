import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { formatClock, formatShortDay, formatTick, formatUtcDay } from '../../lib/format.js'
import { isByDay, type Range } from '../../lib/usage/usage-series.js'

/** Height of the plot. The style sheet reserves it. */
const HEIGHT_PX = 240

type Paint = (name: string) => string

/** Reads colours from the style sheet, so that the chart follows the theme. */
const readPaint = (element: Element): Paint => {
  const style = getComputedStyle(element)
  return name => style.getPropertyValue(`--${name}`).trim()
}

/** One series of a chart. */
export type ChartSeries = {
  /** Of its colour in the style sheet: `--series-<colour>`. */
  readonly colour: string
  readonly values: readonly (number | null)[]
  /** Of a line; absent: columns. */
  readonly dash?: readonly number[]
}

const toData = (startsMs: readonly number[], series: readonly ChartSeries[]): uPlot.AlignedData => [
  startsMs.map(startMs => startMs / 1_000),
  ...series.map(({ values }) => [...values]),
]

/** Points without a neighbour, which lines do not show. */
const findIsolated = (values: ArrayLike<number | null | undefined>): number[] =>
  Array.from(values, (value, index) => {
    const isIsolated = (values[index - 1] ?? null) === null && (values[index + 1] ?? null) === null
    return isIsolated && (value ?? null) !== null ? index : -1
  }).filter(index => index !== -1)

const marginSeconds = ([first = 0, second = 60]: ArrayLike<number> & Iterable<number>): number =>
  (second - first) * 0.6

/** Times of the axis, with the day below the first one and where another day begins. */
const toLabels = (seconds: readonly number[]): string[] => {
  const days = seconds.map(second => formatShortDay(second * 1_000))
  return seconds.map((second, index) => {
    const clock = formatClock(second * 1_000)
    return days[index] === days[index - 1] ? clock : `${clock}\n${days[index] ?? ''}`
  })
}

/** Days of UTC. */
const toDayLabels = (seconds: readonly number[]): string[] =>
  seconds.map(second => formatUtcDay(second * 1_000))

const bars = uPlot.paths.bars?.({ size: [0.72, 24], radius: 0.15 })

const toOptions = (
  {
    width,
    margin,
    paint,
    range,
    series,
    least,
  }: {
    readonly width: number
    readonly margin: number
    readonly paint: Paint
    readonly range: Range
    readonly series: readonly ChartSeries[]
    readonly least: number
  },
  onHover: (index: number | undefined) => void,
): uPlot.Options => {
  const axis: uPlot.Axis = {
    stroke: paint('text-muted'),
    font: '12px system-ui, sans-serif',
    grid: { stroke: paint('line'), width: 1 },
    ticks: { show: false },
  }
  const line = (colour: string, dash: readonly number[]): uPlot.Series => ({
    stroke: paint(`series-${colour}`),
    width: 2,
    dash: [...dash],
    points: {
      show: true,
      size: 6,
      width: 0,
      fill: paint(`series-${colour}`),
      filter: (chart, index) => findIsolated(chart.data[index] ?? []),
    },
  })
  return {
    width,
    height: HEIGHT_PX,
    legend: { show: false },
    // Ticks at midnight of the days that are shown.
    ...(isByDay(range) && { tzDate: second => uPlot.tzDate(new Date(second * 1_000), 'UTC') }),
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    hooks: { setCursor: [chart => onHover(chart.cursor.idx ?? undefined)] },
    padding: [12, 20, 4, 0],
    scales: {
      // Half a column on each side, so that the first and the last are fully visible.
      x: { range: (_chart, first, last) => [first - margin, last + margin] },
      y: { range: (_chart, _low, high) => [0, Math.max(least, (high ?? 0) * 1.1) || 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        space: 64,
        size: 44,
        values: (_chart, seconds) => (isByDay(range) ? toDayLabels(seconds) : toLabels(seconds)),
      },
      { ...axis, size: 52, values: (_chart, ticks) => ticks.map(formatTick) },
    ],
    series: [
      {},
      ...series.map(({ colour, dash }) =>
        dash === undefined
          ? {
              fill: paint(`series-${colour}`),
              points: { show: false },
              ...(bars === undefined ? {} : { paths: bars }),
            }
          : line(colour, dash),
      ),
    ],
  }
}

/** A chart over time. A table has the same data. */
export const TimeChart = ({
  name,
  startsMs,
  series,
  range,
  least,
  onHover,
}: {
  readonly name: string
  /** Of its columns. */
  readonly startsMs: readonly number[]
  /** Always of the same kinds. */
  readonly series: readonly ChartSeries[]
  readonly range: Range
  /** The highest value of the axis is not lower; 0: it is that of the data. */
  readonly least: number
  /** Called with the index of the column under the pointer. */
  readonly onHover: (index: number | undefined) => void
}) => {
  const frame = useRef<HTMLDivElement>(null)
  const chart = useRef<uPlot | undefined>(undefined)
  const data = useRef(toData(startsMs, series))
  data.current = toData(startsMs, series)
  const hover = useRef(onHover)
  hover.current = onHover

  useEffect(() => {
    const element = frame.current
    if (element === null) return undefined
    const draw = (): void => {
      chart.current?.destroy()
      chart.current = new uPlot(
        toOptions(
          {
            width: element.clientWidth,
            margin: marginSeconds(data.current[0]),
            paint: readPaint(element),
            ...{ range, series, least },
          },
          index => hover.current(index),
        ),
        data.current,
        element,
      )
    }
    draw()
    const resized = new ResizeObserver(() => {
      if (chart.current !== undefined && chart.current.width !== element.clientWidth)
        chart.current.setSize({ width: element.clientWidth, height: HEIGHT_PX })
    })
    resized.observe(element)
    const theme = matchMedia('(prefers-color-scheme: dark)')
    theme.addEventListener('change', draw)
    return () => {
      theme.removeEventListener('change', draw)
      resized.disconnect()
      chart.current?.destroy()
    }
  }, [range.name])
  useEffect(() => chart.current?.setData(data.current), [series])

  return (
    <div
      ref={frame}
      class="chart"
      role="img"
      aria-label={`Chart of ${name} over ${range.name}. The table view has the numbers.`}
    />
  )
}
