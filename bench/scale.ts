import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Figure } from './report.js'

/** What a part needs that builds its own stores. */
export type Alone = {
  readonly dir: string
  readonly isQuick: boolean
  readonly report: (figure: Figure) => void
  readonly note: (text: string) => void
}

/** From what a cache holds to ten million; the last needs 15 GB of disk for some minutes. */
const SIZES = [100_000, 1_000_000, 10_000_000] as const
/** What is compared between the smallest and the largest. */
const POINT_READ = ', warm: p50'
/** Design §9. */
const GROWTH_MAX = 1.3

const MANIFEST = fileURLToPath(new URL('../../../native/Cargo.toml', import.meta.url))

/** Runs one size in a process of its own: its memory is measured, and gone before the next. */
const measure = async (size: number, { dir, report }: Alone): Promise<Map<string, number>> => {
  const cargo = ['run', '--release', '--quiet', '--manifest-path', MANIFEST, '-p', 'kernel']
  const run = ['--example', 'scale_bench', '--', join(dir, `scale-${size}`), String(size)]
  const child = spawn('cargo', [...cargo, ...run], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'close')
  const values = new Map<string, number>()
  for await (const line of createInterface({ input: child.stdout })) {
    const { target, ...figure } = JSON.parse(line) as Figure & { target: number | null }
    values.set(figure.name, figure.value)
    const name = `scale ${size}: ${figure.name}`
    report({ ...figure, name, ...(target === null ? {} : { target }) })
  }
  const [code] = await ended
  if (code !== 0) throw new Error(`scale_bench ended with ${String(code)}`)
  return values
}

/** How load, files, reads and writes grow with the number of accounts. */
export const benchScale = async (alone: Alone): Promise<void> => {
  const sizes = alone.isQuick ? SIZES.slice(0, 1) : SIZES
  let first: Map<string, number> | undefined
  for (const size of sizes) {
    alone.note(`${size} accounts and their mints, from an archive of them`)
    const values = await measure(size, alone)
    first ??= values
    if (size !== sizes.at(-1) || values === first) continue
    for (const [name, value] of values) {
      const before = first.get(name)
      if (before === undefined || !name.endsWith(POINT_READ)) continue
      const growth = {
        value: value / before,
        unit: '×',
        better: 'lower',
        target: GROWTH_MAX,
      } as const
      alone.report({ name: `scale: ${name}, against ${sizes[0]}`, ...growth })
    }
  }
}
