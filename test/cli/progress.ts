import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { formatDuration } from '../../src/cli/format-duration.js'
import { createProgress } from '../../src/cli/progress.js'
import { startSandboxChain } from '../../src/sandbox/sandbox-chain.js'
import { serveArchives } from '../fixtures/ingest/archive-server.js'
import { commandLine, runToEnd } from '../fixtures/processes/deployment.js'
import { prepareServe } from '../fixtures/processes/serve.js'
import { recordChain } from '../fixtures/ingest/snapshot-archive.js'
import { unlessPresent } from '../fixtures/skip-absent.js'
import { until } from '../fixtures/until.js'

/** An output that records writes. */
const createOutput = (isTTY: boolean) => {
  const written: string[] = []
  const stream = new Writable({
    write: (chunk, _encoding, done) => {
      written.push(String(chunk))
      done()
    },
  })
  const output = Object.assign(stream, { isTTY, columns: 200 }) as unknown as NodeJS.WriteStream
  return { output, written }
}

t.test('on a terminal one line is redrawn and then removed', async t => {
  const { output, written } = createOutput(true)
  const progress = createProgress('rows', output)
  progress.show(2_500, 10_000, 'verify one')
  await sleep(600)
  progress.show(5_000, 10_000, 'verify one')
  await sleep(600)
  progress.end()
  const text = written.join('')
  t.match(
    text,
    /verify one: 25 %, (unknown|\d+ s) left, 2,500 of about 10,000 rows, [\d,]+ rows\/s/,
  )
  t.match(text, /verify one: 50 %, \d+ s left, 5,000 of about 10,000 rows/)
  t.notMatch(text, '\n')
  // The line is removed: the cursor is at the start of an empty line.
  t.match(text, /\x1b\[1G\x1b\[2K$/)
})

t.test('a progress without updates can end', async t => {
  const { output, written } = createOutput(true)
  createProgress('rows', output).end()
  t.strictSame(written, [])
})

t.test('durations are formatted in their largest units', async t => {
  const cases: [seconds: number, text: string][] = [
    [0, '0 s'],
    [119, '119 s'],
    [120, '2 min'],
    [7_140, '119 min'],
    [7_200, '2 h 0 min'],
    [36_061, '10 h 2 min'],
  ]
  for (const [seconds, text] of cases) t.equal(formatDuration(seconds), text)
})

t.test('other outputs get a line every 10 s', async t => {
  const { output, written } = createOutput(false)
  let nowMs = 0
  const progress = createProgress('rows', output, () => nowMs)
  nowMs = 9_999
  progress.show(1, 10, 'a')
  nowMs = 10_000
  progress.show(0, 3, 'b')
  nowMs = 20_000
  // The total is unknown.
  progress.show(40, 0, 'c')
  nowMs = 30_000
  // More than the total.
  progress.show(30, 10, 'd')
  progress.end()
  t.strictSame(written, [
    'b: 0 %, unknown left, 0 of about 3 rows, 0 rows/s\n',
    'c: 40 rows, 2 rows/s\n',
    'd: 99 %, 0 s left, 30 of about 10 rows, 1 rows/s\n',
  ])
})

const hasTerminal = spawnSync('script', ['--version']).status === 0
const skip = unlessPresent(hasTerminal, 'there is no `script` that makes a terminal')

t.test('a load on a terminal shows bytes, accounts, rate and remaining time', { skip }, async t => {
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
  const full = basename(await record.writeRecent(archives))
  // The server never sends the second half.
  files.setTruncated(true)
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
    /\x1b\[1Gone, load, [\d,]+ accounts: (\d+) %, \d+ (s|min) left, [\d,]+ of about [\d,]+ bytes/
  await until('the progress is drawn', () => drawn.test(output)).catch((error: unknown) => {
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
