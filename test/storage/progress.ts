import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import t from 'tap'
import { createProgress, formatDuration } from '../../src/storage/progress.js'
import { startSandboxChain } from '../../src/sandbox/sandbox-chain.js'
import { serveArchives } from '../fixtures/ingest/archive-server.js'
import { commandLine, runToEnd } from '../fixtures/processes/deployment.js'
import { prepareServe } from '../fixtures/processes/serve.js'
import { recordChain } from '../fixtures/ingest/snapshot-archive.js'
import { until } from '../fixtures/until.js'

const record = (isTTY: boolean) => {
  const lines: string[] = []
  let nowMs = 0
  const output = { isTTY, write: (text: string) => lines.push(text) > 0 }
  const progress = createProgress(output, 'rows', () => nowMs)
  return { lines, progress, at: (ms: number) => void (nowMs = ms) }
}

t.test('a terminal has one line, drawn anew', t => {
  const { at, lines, progress } = record(true)
  progress.show(1, 10_000, 'verify')
  t.strictSame(lines, [], 'not at once')
  at(1_000)
  progress.show(2_500, 10_000, 'verify one')
  progress.show(2_600, 10_000, 'verify one')
  progress.end()
  const words = 'verify one: 25 %, 2,500 of about 10,000 rows, 2,500 rows/s, 3 s left'
  t.strictSame(lines, [`\r\x1b[K${words}`, '\r\x1b[K'])
  t.end()
})

t.test('times as people say them', t => {
  const cases: [seconds: number, says: string][] = [
    [0, '0 s'],
    [119, '119 s'],
    [120, '2 min'],
    [7_140, '119 min'],
    [7_200, '2 h 0 min'],
    [36_061, '10 h 2 min'],
  ]
  for (const [seconds, says] of cases) t.equal(formatDuration(seconds), says)
  t.end()
})

t.test('a log has a line now and then', t => {
  const { at, lines, progress } = record(false)
  at(9_999)
  progress.show(1, 10, 'a')
  at(10_000)
  progress.show(0, 3, 'b')
  at(20_000)
  // Nobody knows of how many.
  progress.show(40, 0, 'c')
  at(30_000)
  // More came than was expected.
  progress.show(30, 10, 'd')
  progress.end()
  t.strictSame(lines, [
    'b: 0 %, 0 of about 3 rows, 0 rows/s, unknown left\n',
    'c: 40 rows, 2 rows/s\n',
    'd: 99 %, 30 of about 10 rows, 1 rows/s, 0 s left\n',
  ])
  t.end()
})

const hasTerminal = spawnSync('script', ['--version']).status === 0
const skip = hasTerminal ? false : 'there is no `script` that makes a terminal'

t.test('a load on a terminal shows bytes, accounts, rate and time left', { skip }, async t => {
  const chain = await startSandboxChain({ slotMs: 40 })
  t.teardown(() => chain.close())
  const record = await recordChain(chain)
  t.teardown(() => record.close())
  const files = await serveArchives(t)
  const prepared = await prepareServe(
    t,
    { one: { endpoint: chain.geyserUrl } },
    {
      bootstrap: { pollMs: 30, firstBlockMs: 10_000, snapshotPollMs: 100 },
      status: { writeMs: 30, staleMs: 5_000 },
    },
  )
  const archives = join(prepared.dataDir, '..', 'archives')
  mkdirSync(archives)
  files.serve(archives)
  const full = basename(await record.writeFull(archives, chain.chain.tip.slot - 1))
  // The other half never comes.
  files.halve(true)
  const args = ['--config', prepared.configFile, '--network', 'one']
  const [command, words] = commandLine('snapshot', 'load', `${files.url}/${full}`, ...args)
  const line = [command, ...words].map(word => `'${word}'`).join(' ')
  const child = spawn('script', ['-qfec', line, '/dev/null'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const ended = new Promise(resolve => child.once('close', resolve))
  let output = ''
  child.stdout.on('data', chunk => (output += String(chunk)))
  const drawn =
    /\r\x1b\[Kone, load, [\d,]+ accounts: (\d+) %, [\d,]+ of about [\d,]+ bytes, [\d,]+ bytes\/s, \d+ (s|min) left/
  await until('it is drawn', () => drawn.test(output)).catch((error: unknown) => {
    throw new Error(`${String(error)}: ${output}`)
  })
  t.match(output, /^one: spool\r\n[^]*one: load\r\n/)
  const { output: shown } = await runToEnd(t, ['status', ...args])
  t.match(
    shown,
    /^ {2}bootstrap {2}snapshot from http:\S+\/snapshot-\S+: load, [\d,]+ of [\d,]+ bytes \(\d+ %\), [\d,]+ accounts$/m,
  )
  child.kill('SIGTERM')
  await ended
})
