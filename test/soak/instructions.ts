import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { ownDir } from '../fixtures/own-dir.js'
import { repositoryPath } from '../fixtures/repository.js'
import { skipAbsent } from '../fixtures/skip-absent.js'
import { soakTest } from '../fixtures/soak.js'

const BUILD_MS = 900_000
const ACCOUNTS = '1000000'
/** Caches of the model, of which the last is smaller than the store. */
const CACHES = ['--I1=32768,8,64', '--D1=32768,8,64', '--LL=16777216,16,64']
const EVENTS = {
  instructions: /I +refs: +([\d,]+)/,
  dataLines: /D1 +misses: +([\d,]+)/,
  memoryLines: /LLd misses: +([\d,]+)/,
} as const
type Counts = Record<keyof typeof EVENTS, number>

type Case = {
  readonly name: string
  readonly distinct: number
  readonly reads: number
  /** Of each list; undefined for single accounts. */
  readonly addresses?: number
  readonly atMost: Counts
}

/** What a read takes of each, at most: a tenth over what it took when this was written. */
const CASES: readonly Case[] = [
  {
    name: 'of one account',
    distinct: 1,
    reads: 4_096,
    atMost: { instructions: 8_950, dataLines: 9, memoryLines: 0.1 },
  },
  {
    name: 'of accounts that no cache has',
    distinct: 200_000,
    reads: 100_000,
    atMost: { instructions: 9_400, dataLines: 51, memoryLines: 15 },
  },
  {
    name: 'of a list of 100 accounts',
    distinct: 1_000,
    reads: 500,
    addresses: 100,
    atMost: { instructions: 682_000, dataLines: 6_480, memoryLines: 1_115 },
  },
]

const run = (command: string, args: readonly string[]): string => {
  const { status, stderr, error } = spawnSync(command, args, {
    encoding: 'utf8',
    timeout: BUILD_MS,
  })
  if (status !== 0) throw new Error(`${command}: ${error?.message ?? stderr.slice(-2_000)}`)
  return stderr
}

const buildExample = (): string => {
  const host = spawnSync('rustc', ['--print=host-tuple'], { encoding: 'utf8' }).stdout.trim()
  const manifest = repositoryPath('native/Cargo.toml')
  const args = ['--release', '--target', host, '--manifest-path', manifest]
  run('cargo', ['build', ...args, '-p', 'wire', '--example', 'count_reads'])
  return repositoryPath(`native/target/${host}/release/examples/count_reads`)
}

// Counts of instructions and of cache lines are the same on each machine, which times are not.
soakTest('a point read takes no more instructions and cache lines than it did', {}, async t => {
  if (spawnSync('valgrind', ['--version']).status !== 0)
    return skipAbsent(t, 'no valgrind in PATH: install it with `apt-get install valgrind`')
  t.setTimeout(BUILD_MS)
  const program = buildExample()
  const dir = ownDir(t)
  run(program, ['fill', dir, ACCOUNTS])
  const count = ({ distinct, addresses }: Case, reads: number): Counts => {
    const valgrind = ['--tool=cachegrind', '--cache-sim=yes', ...CACHES]
    const file = `--cachegrind-out-file=${join(dir, 'cachegrind.out')}`
    const ofLists = addresses === undefined ? [] : [String(addresses)]
    const kind = addresses === undefined ? 'read' : 'list'
    const own = [program, kind, dir, ACCOUNTS, String(distinct), String(reads), ...ofLists]
    const text = run('valgrind', [...valgrind, file, ...own])
    const of = (event: keyof Counts): number =>
      Number(EVENTS[event].exec(text)?.[1]?.replaceAll(',', '') ?? NaN)
    const [instructions, dataLines, memoryLines] = [
      of('instructions'),
      of('dataLines'),
      of('memoryLines'),
    ]
    return { instructions, dataLines, memoryLines }
  }
  for (const one of CASES) {
    const { name, reads, atMost } = one
    // The start of the program is in both.
    const [once, twice] = [count(one, reads), count(one, 2 * reads)]
    for (const event of Object.keys(EVENTS) as (keyof Counts)[]) {
      const perRead = (twice[event] - once[event]) / reads
      const most = atMost[event]
      t.ok(perRead <= most, `${name}: ${perRead.toFixed(1)} ${event}, at most ${most}`)
    }
  }
})
