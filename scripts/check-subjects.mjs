// Checks the subjects of the newest commits, which have at most 60 characters. Part of
// `npm run lint`. The only argument is the root of another checkout.
import { spawnSync } from 'node:child_process'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

const SUBJECT_CHARS_MAX = 60
/** Older ones are part of a history that is not rewritten. */
const COMMITS_MAX = 50

const cwd = process.argv[2] ?? fileURLToPath(new URL('..', import.meta.url))
const args = ['log', '--no-merges', `--max-count=${COMMITS_MAX}`, '--format=%h %s']
const { error, status, stdout, stderr } = spawnSync('git', args, { cwd, encoding: 'utf8' })
if (status !== 0) throw new Error(`git log: ${error?.message ?? stderr}`)

for (const line of stdout.trim().split('\n')) {
  const [, commit, subject = ''] = /^(\S+) (.*)/.exec(line) ?? []
  const characters = Array.from(subject).length
  if (characters <= SUBJECT_CHARS_MAX) continue
  process.stderr.write(`commit ${commit}: ${characters} characters: ${subject}\n`)
  process.exitCode = 1
}
