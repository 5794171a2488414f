import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Figure } from './report.js'
import { measureEdge } from './scale-edge.js'

/** What a part needs that builds its own stores. */
export type Alone = {
  readonly dir: string
  readonly isQuick: boolean
  readonly report: (figure: Figure) => void
  readonly note: (text: string) => void
}

/** From what a cache holds to ten million; the last needs 15 GB of disk for some minutes. */
const SIZES = [100_000, 1_000_000, 10_000_000] as const
/** What is compared between the smallest and the largest: the kernel's own part, and what a client sees. */
const IN_KERNEL = ', warm: p50'
const AT_EDGE = ' at an edge: p50'
/** Design §9, of a read as a client sees it. */
const GROWTH_MAX = 1.3
/** What scale_bench says when its store is loaded and it waits. */
const LOADED = 'loaded'

const MANIFEST = fileURLToPath(new URL('../../../native/Cargo.toml', import.meta.url))

/**
 * Runs one size in a process of its own: its memory is measured, and gone before the next. An edge reads the store after
 * it is loaded and before it is changed, so that what is right follows from the set.
 */
const measure = async (
  size: number,
  { dir, report, note }: Alone,
): Promise<Map<string, number>> => {
  const folder = join(dir, `scale-${size}`)
  const cargo = ['run', '--release', '--quiet', '--manifest-path', MANIFEST, '-p', 'kernel']
  const run = ['--example', 'scale_bench', '--', folder, String(size), 'wait']
  const child = spawn('cargo', [...cargo, ...run], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(child, 'close')
  const values = new Map<string, number>()
  const add = ({ name, ...figure }: Figure): void => {
    values.set(name, figure.value)
    report({ ...figure, name: `scale ${size}: ${name}` })
  }
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const { target, ...figure } = JSON.parse(line) as Figure & { target: number | null }
      if (figure.name !== LOADED) add({ ...figure, ...(target === null ? {} : { target }) })
      else {
        const places = { storeDir: join(folder, 'store'), dataDir: join(dir, `edge-${size}`) }
        const samplePath = join(folder, 'sample.json')
        for (const each of await measureEdge({ ...places, samplePath, note })) add(each)
        child.stdin.end('\n')
      }
    }
    const [code] = await ended
    if (code !== 0) throw new Error(`scale_bench ended with ${String(code)}`)
    return values
  } finally {
    // `cargo run` becomes what it runs: this is its pid, unless it has ended.
    child.kill('SIGKILL')
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
}

/** How load, files, reads and writes grow with the number of accounts. */
export const benchScale = async (
  alone: Alone,
  sizes: readonly number[] = alone.isQuick ? SIZES.slice(0, 1) : SIZES,
): Promise<void> => {
  let first: Map<string, number> | undefined
  for (const size of sizes) {
    alone.note(`${size} accounts and their mints, from an archive of them`)
    const values = await measure(size, alone)
    first ??= values
    if (size !== sizes.at(-1) || values === first) continue
    for (const [name, value] of values) {
      const before = first.get(name)
      const isAtEdge = name.endsWith(AT_EDGE)
      if (before === undefined || !(isAtEdge || name.endsWith(IN_KERNEL))) continue
      alone.report({
        name: `scale: ${name}, against ${sizes[0]}`,
        value: value / before,
        unit: '×',
        better: 'lower',
        ...(isAtEdge ? { target: GROWTH_MAX } : {}),
      })
    }
  }
}
