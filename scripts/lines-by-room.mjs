// Counts the lines of the sources by room, of one revision or of two:
//   node scripts/lines-by-room.mjs [<before> [<after>]]
// Without a revision it counts HEAD. `src` is without the sandbox and the dashboard's page, which
// have rows of their own; what is generated and what tests read as data is not counted.
import { spawnSync } from 'node:child_process'
import process from 'node:process'

const GROUPS = ['src', 'src apart', 'native', 'test', 'bench', 'scripts', 'docs']
const APART = ['src/sandbox', 'src/dashboard/pages']
const SOURCES = /^(?:src|native|test|bench|scripts)\/.*\.(?:tsx?|mjs|js|css|html|rs|cpp|h|py|sh)$/
/** Written by `napi build`. */
const GENERATED = /^native\/addon\/index\.(?:js|d\.ts)$/
const NEWLINE = 10

/** The group and the room of a file; undefined of one that is not counted. */
const placeOf = path => {
  const apart = APART.find(folder => path.startsWith(`${folder}/`))
  const [top, folder] = path.split('/').slice(0, -1)
  const room = folder === undefined ? `${top ?? '.'}/*` : `${top}/${folder}`
  if (path.endsWith('.md')) return { group: 'docs', room: top === 'docs' ? room : 'elsewhere' }
  if (path.endsWith('.patch')) return { group: top, room: `${room}, patches` }
  if (!SOURCES.test(path) || GENERATED.test(path)) return undefined
  return apart === undefined ? { group: top, room } : { group: 'src apart', room: apart }
}

const git = (args, input) => {
  const { status, stderr, stdout } = spawnSync('git', args, { input, maxBuffer: 1024 ** 3 })
  if (status !== 0) throw new Error(`git ${args.join(' ')}: ${stderr}`)
  return stdout
}

/** The lines of each blob in an answer of `git cat-file --batch`, in their order. */
const lineCounts = answer => {
  const counts = []
  for (let at = 0; at < answer.length;) {
    const start = answer.indexOf(NEWLINE, at) + 1
    const size = Number(answer.toString('latin1', at, start).split(' ').at(-1))
    const blob = answer.subarray(start, start + size)
    counts.push(blob.reduce((lines, byte) => lines + Number(byte === NEWLINE), 0))
    at = start + size + 1
  }
  return counts
}

/** Lines by `<group>` and by `<group>\0<room>`. */
const countRevision = revision => {
  const entries = git(['ls-tree', '-r', '-z', revision]).toString().split('\0')
  const files = entries.flatMap(entry => {
    const [, blob, path = ''] = /^\d+ blob ([0-9a-f]+)\t(.*)$/.exec(entry) ?? []
    const place = placeOf(path)
    return blob === undefined || place === undefined ? [] : [{ blob, ...place }]
  })
  const counts = lineCounts(git(['cat-file', '--batch'], files.map(f => `${f.blob}\n`).join('')))
  const lines = new Map()
  for (const [at, { group, room }] of files.entries())
    for (const key of [group, `${group}\0${room}`])
      lines.set(key, (lines.get(key) ?? 0) + counts[at])
  return lines
}

const revisions = process.argv.slice(2)
const tables = (revisions.length === 0 ? ['HEAD'] : revisions).map(countRevision)
const keys = Array.from(new Set(tables.flatMap(table => Array.from(table.keys())))).toSorted()
for (const group of GROUPS)
  for (const key of keys.filter(key => key.split('\0')[0] === group)) {
    const counts = tables.map(table => table.get(key) ?? 0)
    const cells = counts.length === 2 ? [...counts, counts[1] - counts[0]] : counts
    const [, room] = key.split('\0')
    const name = room === undefined ? group : `  ${room}`
    process.stdout.write(name.padEnd(28) + cells.map(n => `${n}`.padStart(8)).join('') + '\n')
  }
