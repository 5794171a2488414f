import { appendFileSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { openAuditLog } from '../../../src/access/audit/audit-log.js'
import { defaults } from '../../../src/access/audit/options.js'
import { ownDir } from '../../fixtures/own-dir.js'

const DAY_MS = 86_400_000
/** The most that a search reads at once: 128 KiB take it less than 5 ms. */
const PIECE_BYTES = 131_072
const ALL = { beforeMs: Number.MAX_SAFE_INTEGER, limit: 1_000 }
const entry = (accessId: string, by: string | null = 'ada') =>
  ({ action: 'reveal', by, from: '127.0.0.1', accessId }) as const

t.test('entries are read newest first, by person and access, in pages', async t => {
  const dir = ownDir(t)
  let nowMs = 1_800_000_000_000
  const log = openAuditLog(dir, defaults, () => nowMs)
  for (let at = 0; at < 10; at += 1) {
    nowMs += 1_000
    log.record(entry(`acc_${at % 2}`, at < 5 ? 'ada' : null))
  }
  const times = (all: readonly { atMs: number }[]) => all.map(({ atMs }) => atMs % 100_000)
  t.strictSame(
    times(await log.read(ALL)),
    [10, 9, 8, 7, 6, 5, 4, 3, 2, 1].map(at => at * 1_000),
  )
  t.strictSame(
    times(await log.read({ ...ALL, by: 'ada', accessId: 'acc_0' })),
    [5_000, 3_000, 1_000],
  )
  const page = await log.read({ ...ALL, limit: 4 })
  const beforeMs = page.at(-1)?.atMs ?? 0
  t.strictSame(times(await log.read({ beforeMs, limit: 2 })), [6_000, 5_000])
  t.strictSame(
    await openAuditLog(dir, defaults, Date.now).read(ALL),
    await log.read(ALL),
    'a restart',
  )
  const [name = ''] = readdirSync(join(dir, 'audit'))
  t.equal(statSync(join(dir, 'audit', name)).mode & 0o777, 0o600)
})

t.test(
  'any text of a person or access is found, and no entry that only has it elsewhere',
  async t => {
    const log = openAuditLog(ownDir(t), defaults, Date.now)
    for (const by of ['a"b\\\n\u0000', '€\u{1F600}', '{"atMs":9', '']) {
      log.record({ ...entry('acc_1', by), request: { by: 'eve', accessId: 'acc_2' } })
      t.match(await log.read({ ...ALL, by, accessId: 'acc_1' }), [{ by }])
      t.equal((await log.read({ ...ALL, by })).length, 1)
    }
    t.strictSame(await log.read({ ...ALL, by: 'eve' }), [])
    t.strictSame(await log.read({ ...ALL, accessId: 'acc_2' }), [])
  },
)

t.test('a cut line does not hide the entries around it', async t => {
  const dir = ownDir(t)
  const log = openAuditLog(dir, defaults, Date.now)
  log.record(entry('acc_before'))
  const [name = ''] = readdirSync(join(dir, 'audit'))
  appendFileSync(join(dir, 'audit', name), '\n{"atMs":1,"acti')
  log.record(entry('acc_after'))
  t.strictSame(
    (await log.read(ALL)).map(({ accessId }) => accessId),
    ['acc_after', 'acc_before'],
  )
})

t.test('files are bounded by bytes, number and age', async t => {
  const dir = ownDir(t)
  const options = { keptDaysMax: 30, fileBytesMax: 2_048, filesMax: 4 }
  let nowMs = 1_800_000_000_000
  const log = openAuditLog(dir, options, () => nowMs)
  const sizes = (): number[] =>
    readdirSync(join(dir, 'audit')).map(name => statSync(join(dir, 'audit', name)).size)
  for (let at = 0; at < 200; at += 1) log.record(entry(`acc_${at}`))
  t.equal(sizes().length, 4, 'also where the clock stands still')
  t.ok(sizes().every(size => size <= options.fileBytesMax))
  t.equal((await log.read({ ...ALL, limit: 1 }))[0]?.accessId, 'acc_199')

  nowMs += 31 * DAY_MS
  for (let at = 0; at < 40; at += 1) log.record(entry(`acc_${at}`))
  const kept = readdirSync(join(dir, 'audit')).map(name =>
    readFileSync(join(dir, 'audit', name), 'utf8'),
  )
  t.ok(kept.length <= 3, 'files whose last entry is too old are removed')
  t.equal((await log.read({ ...ALL, limit: 1 }))[0]?.atMs, nowMs + 39)
})

t.test('a search of a full log leaves other events their turns', async t => {
  const dir = ownDir(t)
  const log = openAuditLog(dir, defaults, Date.now)
  // Of 64 MiB; entries of the person are in the oldest file only.
  const lineOf = (atMs: number, by: string): string =>
    `\n${JSON.stringify({ atMs, ...entry('acc_1', by), request: { text: 'é'.repeat(90) } })}`
  let [count, written] = [0, 0]
  for (let file = 0; file < defaults.filesMax; file++) {
    const firstMs = 1_700_000_000_000 + file * DAY_MS
    const lines: string[] = []
    for (let bytes = 0, nth = 0; ; nth++) {
      const isHers = file === 0 && nth % 1_000 === 0
      const line = lineOf(firstMs + nth, isHers ? 'eve' : 'ada')
      bytes += Buffer.byteLength(line)
      if (bytes > defaults.fileBytesMax) break
      if (isHers) count++
      written += Buffer.byteLength(line)
      lines.push(line)
    }
    writeFileSync(join(dir, 'audit', `${firstMs}.jsonl`), lines.join(''))
  }
  // Each read ends in a turn of its own, so what is read at once is all that is searched at once.
  // A bound of time would be one of the machine, and of what runs beside this test.
  const probe = await open(import.meta.filename)
  const handles = Object.getPrototypeOf(probe) as FileHandle
  await probe.close()
  let sizes: number[] = []
  const { read } = handles
  t.teardown(() => (handles.read = read))
  handles.read = function (this: FileHandle, ...parameters: [Buffer, number, number, number]) {
    sizes.push(parameters[2])
    return Reflect.apply(read, this, parameters)
  } as FileHandle['read']
  for (const query of [{ by: 'nobody' }, { by: 'eve' }, {}]) {
    sizes = []
    const found = await log.read({ ...ALL, ...query })
    t.equal(Math.max(...sizes), PIECE_BYTES)
    const isWhole = query.by !== undefined
    t.equal(found.length, query.by === 'nobody' ? 0 : isWhole ? count : ALL.limit)
    const total = sizes.reduce((sum, bytes) => sum + bytes, 0)
    if (isWhole) t.equal(total, written)
    else t.ok(total <= 4 * PIECE_BYTES, 'a page without a filter is read from the end')
  }
})

t.test('lines of any length are read whole, whatever pieces they are in', async t => {
  const dir = ownDir(t)
  const log = openAuditLog(dir, defaults, Date.now)
  const lengths = [1, 262_144, 262_143, 700_000, 3, 262_100, 40_000]
  for (const length of lengths)
    log.record({
      ...entry('acc_1'),
      request: { text: '€'.repeat(Math.floor(length / 3)) + 'x'.repeat(length % 3) },
    })
  const found = await log.read(ALL)
  t.strictSame(
    found.map(({ request }) => Buffer.byteLength((request as { text: string }).text)),
    lengths.map(length => Math.floor(length / 3) * 3 + (length % 3)).toReversed(),
  )
})
