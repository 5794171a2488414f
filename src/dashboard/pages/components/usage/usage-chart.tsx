import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { formatClock, formatShortDay, formatUtcDay } from '../../lib/format.js'
import { RANGES, SERIES, type Range, type UsageBucket } from '../../lib/usage/usage-series.js'

/** Height of the plot. The style sheet reserves it. */
const HEIGHT_PX = 240

type Paint = (name: string) => string

/** Reads colours from the style sheet, so that the chart follows the theme. */
const readPaint = (element: Element): Paint => {
  const style = getComputedStyle(element)
  return name => style.getPropertyValue(`--${name}`).trim()
}

const toData = (buckets: readonly UsageBucket[]): uPlot.AlignedData => [
  buckets.map(({ startMs }) => startMs / 1_000),
  // Zeros are no points: lines along the bottom would hide other values.
  ...SERIES.map(({ key }) =>
    buckets.map(bucket => (bucket[key] === 0 && key !== 'requests' ? null : bucket[key])),
  ),
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
  }: {
    readonly width: number
    readonly margin: number
    readonly paint: Paint
    readonly range: Range
  },
  onHover: (index: number | undefined) => void,
): uPlot.Options => {
  const axis: uPlot.Axis = {
    stroke: paint('text-muted'),
    font: '12px system-ui, sans-serif',
    grid: { stroke: paint('line'), width: 1 },
    ticks: { show: false },
  }
  const line = (key: string, dash: number[]): uPlot.Series => ({
    stroke: paint(`series-${key}`),
    width: 2,
    dash,
    points: {
      show: true,
      size: 6,
      width: 0,
      fill: paint(`series-${key}`),
      filter: (chart, index) => findIsolated(chart.data[index] ?? []),
    },
  })
  return {
    width,
    height: HEIGHT_PX,
    legend: { show: false },
    // Ticks at midnight of the days that are shown.
    ...(range === 'month' && { tzDate: second => uPlot.tzDate(new Date(second * 1_000), 'UTC') }),
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    hooks: { setCursor: [chart => onHover(chart.cursor.idx ?? undefined)] },
    padding: [12, 20, 4, 0],
    scales: {
      // Half a column on each side, so that the first and the last are fully visible.
      x: { range: (_chart, first, last) => [first - margin, last + margin] },
      y: { range: (_chart, _low, high) => [0, Math.max(4, high * 1.1)] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        space: 64,
        size: 44,
        values: (_chart, seconds) => (range === 'month' ? toDayLabels(seconds) : toLabels(seconds)),
      },
      { ...axis, size: 52 },
    ],
    series: [
      {},
      {
        fill: paint('series-requests'),
        points: { show: false },
        ...(bars === undefined ? {} : { paths: bars }),
      },
      line('errors', []),
      line('rateLimited', [6, 3]),
      line('refused', [2, 3]),
    ],
  }
}

/** Chart of requests over time. The table has the same data. */
export const UsageChart = ({
  buckets,
  range,
  onHover,
}: {
  readonly buckets: readonly UsageBucket[]
  readonly range: Range
  /** Called with the index of the column under the pointer. */
  readonly onHover: (index: number | undefined) => void
}) => {
  const frame = useRef<HTMLDivElement>(null)
  const chart = useRef<uPlot | undefined>(undefined)
  const data = useRef(toData(buckets))
  data.current = toData(buckets)
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
            range,
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
  }, [range])
  useEffect(() => chart.current?.setData(data.current), [buckets])

  return (
    <div
      ref={frame}
      class="chart"
      role="img"
      aria-label={`Chart of requests over ${RANGES[range].name}. The table view has the numbers.`}
    />
  )
}
