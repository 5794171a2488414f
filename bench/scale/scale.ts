import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Figure } from '../report/report.js'
import {
  edgeFigures,
  growthFigures,
  timeEdges,
  withScaleEdge,
  type ScaleEdge,
} from './scale-edge.js'

/** What a part needs that builds its own stores. */
export type Alone = {
  readonly dir: string
  readonly isQuick: boolean
  readonly report: (figure: Figure) => void
  readonly note: (text: string) => void
}

/** From a number that fits in a cache to ten million, which needs 15 GB of disk for minutes. */
const SIZES = [100_000, 1_000_000, 10_000_000] as const
/**
 * The native part of the comparison between the smallest and the largest; the target is of
 * the whole.
 */
const IN_KERNEL = ', warm: p50'
/** Output of scale_bench where it waits: the store is loaded, or in no process's memory. */
const PAUSES: readonly string[] = ['loaded', 'forgotten'] satisfies Pause[]
export type Pause = 'forgotten' | 'loaded'

const MANIFEST = fileURLToPath(new URL('../../../../native/Cargo.toml', import.meta.url))

type Size = {
  readonly size: number
  readonly dir: string
  /** Called for each figure. */
  readonly onFigure: (figure: Figure) => void
  /** What is done after the load. */
  readonly mode: 'cold' | 'wait'
  /** While the process waits, and nothing else is done with the store. */
  readonly onPause: (pause: Pause, pid: number) => Promise<void>
  /** False if only the load is measured. */
  readonly isWhole?: boolean
}

const isPause = (name: string): name is Pause => PAUSES.includes(name)

/** Runs one size in a separate process, whose memory is measured and then freed. */
export const runSize = async ({
  size,
  dir,
  mode,
  onFigure,
  onPause,
  isWhole = true,
}: Size): Promise<void> => {
  const folder = join(dir, `scale-${size}`)
  const cargo = ['run', '--release', '--quiet', '--manifest-path', MANIFEST, '-p', 'ingest']
  const run = ['--example', 'scale_bench', '--', folder, String(size), mode]
  const child = spawn('cargo', [...cargo, ...run], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  // Its exit code is the result.
  child.stdin.on('error', () => {})
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const { target, ...figure } = JSON.parse(line) as Figure & { target: number | null }
      if (!isPause(figure.name)) {
        onFigure({ ...figure, ...(target === null ? {} : { target }) })
        continue
      }
      await onPause(figure.name, child.pid ?? 0)
      if (!isWhole) return
      child.stdin.write('\n')
    }
    const [code] = await ended
    if (code !== 0) throw new Error(`scale_bench ended with ${String(code)}`)
  } finally {
    // `cargo run` becomes what it runs: this is its pid, unless it has ended.
    child.kill('SIGKILL')
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
}

type Sink = (figure: Figure) => void

const filesOf = (dir: string, size: number) => ({
  folder: join(dir, `scale-${size}`),
  dataDir: join(dir, `edge-${size}`),
})

/** What a client sees of this size alone. */
const timeAlone = async (edge: ScaleEdge, { note }: Alone, onFigure: Sink): Promise<void> => {
  const [timed = []] = await timeEdges([edge], note)
  edgeFigures(edge.names, timed).forEach(onFigure)
}

/**
 * What a client sees of this size and of the smallest, which is loaded once more: times of
 * different minutes differ by more than the measured difference.
 */
const timeAgainst = (
  edge: ScaleEdge,
  smallest: number,
  { alone: { dir, note, report }, onFigure }: { readonly alone: Alone; readonly onFigure: Sink },
): Promise<void> =>
  runSize({
    size: smallest,
    dir,
    mode: 'wait',
    onFigure: () => {},
    onPause: () =>
      withScaleEdge(filesOf(dir, smallest), async small => {
        const [timed = [], before = []] = await timeEdges([edge, small], note)
        edgeFigures(edge.names, timed).forEach(onFigure)
        for (const { name, ...figure } of edgeFigures(small.names, before))
          report({ ...figure, name: `scale ${smallest} in turn: ${name}` })
        for (const { name, ...figure } of growthFigures(edge.names, timed, before))
          report({ ...figure, name: `scale: ${name}, against ${smallest}` })
      }),
    isWhole: false,
  })

/** How load, files, reads and writes grow with the number of accounts. */
export const benchScale = async (
  alone: Alone,
  sizes: readonly number[] = alone.isQuick ? SIZES.slice(0, 1) : SIZES,
): Promise<void> => {
  const { dir, report, note } = alone
  const [smallest] = sizes
  let first: Map<string, number> | undefined
  for (const size of sizes) {
    note(`${size} accounts and their mints, from an archive of them`)
    const values = new Map<string, number>()
    const onFigure = ({ name, ...figure }: Figure): void => {
      values.set(name, figure.value)
      report({ ...figure, name: `scale ${size}: ${name}` })
    }
    const isCompared = size === sizes.at(-1) && size !== smallest
    const other = isCompared ? smallest : undefined
    await runSize({
      size,
      dir,
      onFigure,
      mode: 'wait',
      onPause: () =>
        withScaleEdge(filesOf(dir, size), edge =>
          other === undefined
            ? timeAlone(edge, alone, onFigure)
            : timeAgainst(edge, other, { alone, onFigure }),
        ),
    })
    first ??= values
    if (!isCompared) continue
    for (const [name, value] of values) {
      const before = first.get(name)
      if (before === undefined || !name.endsWith(IN_KERNEL)) continue
      const growth = { value: value / before, unit: '×', better: 'lower' } as const
      report({ name: `scale: ${name}, against ${smallest}`, ...growth })
    }
  }
}
