import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { EXAMPLE, parseConfig } from '../src/config/config.js'
import { formatConfig } from '../src/config/printable.js'
import { commandLine } from './fixtures/processes/deployment.js'
import { ownDir } from './fixtures/own-dir.js'

// What `npm test` has built: compiling it for each call would take longer than all other
// tests.
const run = (...args: string[]) => spawnSync(...commandLine(...args), { encoding: 'utf8' })

const dir = ownDir(t)
const good = join(dir, 'good.toml')
const bad = join(dir, 'bad.toml')
writeFileSync(good, formatConfig(EXAMPLE))
writeFileSync(bad, formatConfig(EXAMPLE).replace('drainMs', 'drainMsx'))

const cases: [args: string[], code: number, stderr: RegExp][] = [
  [['config', 'check', good], 0, /^$/],
  [
    ['config', 'check', bad],
    1,
    /^slotline: \S+bad\.toml:\d+: (server|processes)\.drainMsx is unknown; did you mean drainMs\?\n$/,
  ],
  [['config', 'check', join(dir, 'none.toml')], 1, /^slotline: \S+\/none\.toml does not exist\n$/],
  [['config', 'check'], 2, /missing required argument/],
  [['serve', '--config', bad], 1, /^slotline: \S+bad\.toml:\d+: [^\n]*\n$/],
  [['serve'], 2, /required option '--config <file>' not specified/],
  [['sandbox', '--port', '65471'], 2, /integer from 1 to 65470/],
  [['sandbox', '--traffic', '1.5'], 2, /integer from 0/],
  [['sandbox', '--edges', '0'], 2, /integer from 1/],
  [['sandbox', '--fast'], 2, /unknown option/],
  [
    ['serve', '--config', join(dir, 'none.toml')],
    1,
    /^slotline: \S+\/none\.toml does not exist\n$/,
  ],
  [['config', 'check', dir], 1, /^slotline: [^\n]*directory[^\n]*\n$/],
  [
    ['reload', '--config', join(dir, 'none.toml')],
    2,
    /^slotline: \S+none\.toml does not exist; no service runs with \S+none\.toml\n$/,
  ],
  [
    ['reload', '--data-dir', join(dir, 'none')],
    2,
    /^slotline: no Slotline runs on the data directory \S+none\n$/,
  ],
  [['usage', '--config', good, '--json', '--csv'], 2, /cannot be used with/],
  [
    ['audit', '--url', 'http://127.0.0.1:9', '--token-file', join(dir, 'none.token'), '--json'],
    1,
    /^slotline: \S+none\.token does not exist\n$/,
  ],
  [['nothing'], 2, /unknown command/],
  [['status'], 2, /give --config <file> or --data-dir <dir>/],
  [['status', '--config', good, '--data-dir', dir], 2, /--data-dir <dir>' cannot be used with/],
  [
    ['status', '--data-dir', dir],
    2,
    /no service has run on the data directory [^\n]*: give --config\n$/,
  ],
  [['config', 'dump', good, '--data-dir', dir], 2, /give either a file or --data-dir <dir>/],
  [['config', 'dump', '--all', good], 2, /--all prints defaults: it takes no file/],
]
for (const [args, code, stderr] of cases) {
  const name = args.map(arg => arg.replace(dir, '')).join(' ')
  const ended = run(...args)
  t.equal(ended.status, code, `${name}: exit code`)
  t.match(ended.stderr, stderr, `${name}: standard error`)
}

const dumped = run('config', 'dump')
t.strictSame(parseConfig(dumped.stdout, 'dump'), EXAMPLE, 'the dump without a file is the example')
t.equal(
  run('config', 'dump', good).stdout.replaceAll(`${dir}/`, ''),
  dumped.stdout,
  'the dump of the dump is the same, with absolute paths',
)
const all = run('config', 'dump', '--all').stdout
t.strictSame(parseConfig(all, 'all'), EXAMPLE, 'all defaults are those of the example')
t.match(all, /^# (?:.* )?Must be an integer from 1 to 900 \(seconds\)\.\n#idleSeconds = 75$/m)
const enabled = all.replaceAll(/^#(?=\[|\w+ = [^#])/gm, '')
t.ok(enabled.includes('\nidleSeconds = 75\n'))
t.strictSame(
  parseConfig(`${all}\n[processes]\nedgeCount = 1\n`, 'all').processes.edgeCount,
  1,
  'a section can be added at its end',
)
const version = run('--version')
t.equal(version.status, 0)
t.match(
  version.stdout,
  /^slotline \d+\.\d+\.\d+( \(commit [0-9a-f]{12}\))?, Node\.js \d+\.\d+\.\d+\n$/,
)

const dump = commandLine('config', 'dump', '--all')
  .flat()
  .map(word => `'${word}'`)
  .join(' ')
const pipe = spawnSync('bash', ['-c', `${dump} | true; echo \${PIPESTATUS[0]}`], {
  encoding: 'utf8',
})
t.strictSame(
  [pipe.stdout, pipe.stderr],
  ['141\n', ''],
  'a closed pipe ends a command without a word',
)
const full = spawnSync('bash', ['-c', `${dump} >/dev/full`], { encoding: 'utf8' })
t.strictSame(
  [full.status, full.stderr],
  [1, 'slotline: the output cannot be written: no space left on device\n'],
)

const help = run('--help')
t.equal(help.status, 0)
t.match(help.stdout, /serve[^]*sandbox[^]*config/)
t.notMatch(help.stdout, /\brole\b/, 'what the supervisor starts is not shown')
