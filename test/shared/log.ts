import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { createToken } from '../../src/access/tokens/location-token.js'
import { defaults } from '../../src/shared/log-options.js'
import { createLog, redactTokens } from '../../src/shared/log.js'
import { Secret } from '../../src/shared/secret.js'
import { moduleUrl, repositoryPath } from '../fixtures/repository.js'

const CANARY = createToken(randomBytes)

const collect = (options = defaults) => {
  const lines: string[] = []
  return { lines, log: createLog('edge', line => lines.push(line), options) }
}

t.test('a line is JSON with its role, its time and its bindings', t => {
  const { lines, log } = collect()
  log.child({ requestId: 'r1', tokenId: 'tok_1' }).warn({ slot: 7 }, 'two\nlines')
  t.equal(lines.length, 1)
  const [line = ''] = lines
  t.match(line, /^[^\n]*\n$/, 'one line, whatever is in it')
  t.match(JSON.parse(line), {
    level: 'warn',
    role: 'edge',
    pid: process.pid,
    requestId: 'r1',
    tokenId: 'tok_1',
    slot: 7,
    msg: 'two\nlines',
  })
  t.match(JSON.parse(line).time, /^\d{4}-\d\d-\d\dT/)
  t.end()
})

t.test('tokens are redacted everywhere in a line', t => {
  const error = new Error(`cannot reach https://fra.example/${CANARY}`, {
    cause: new TypeError(`bad header ${CANARY}`),
  })
  error.stack = `Error: at /${CANARY}\n    at file:///${CANARY}/x.js:1:1`
  const deep = { a: [{ b: { c: { d: { e: { token: CANARY } } } } }] }
  const cases: [name: string, write: (log: ReturnType<typeof collect>['log']) => void][] = [
    ['the message', log => log.info(`token ${CANARY}`)],
    ['a format argument', log => log.info('token %s of %o', CANARY, { CANARY })],
    ['a field', log => log.info({ token: CANARY }, 'x')],
    ['deep within', log => log.info(deep, 'x')],
    ['the name of a field', log => log.info({ [CANARY]: 1 }, 'x')],
    ['an error', log => log.error(error)],
    ['an error as a field', log => log.error({ err: error }, 'x')],
    ['a binding', log => log.child({ url: `wss://fra/${CANARY}?x=1` }).info('x')],
    ['percent-encoded', log => log.info(`/slt%5F${CANARY.slice(4)}`)],
    ['JSON within JSON', log => log.info(JSON.stringify({ body: JSON.stringify({ t: CANARY }) }))],
    ['escaped within JSON', log => log.info(`{"t":"slt\\u005f${CANARY.slice(4)}"}`)],
    ['cut short', log => log.info(CANARY.slice(0, 20))],
    ['twice', log => log.info(`${CANARY}${CANARY} ${CANARY}`)],
    ['upper case', log => log.info(CANARY.toUpperCase())],
    ['an URL object', log => log.info({ url: new URL(`https://fra/${CANARY}`) }, 'x')],
    ['a secret', log => log.info({ token: new Secret(CANARY) }, `${new Secret(CANARY)}`)],
  ]
  for (const [name, write] of cases) {
    const { lines, log } = collect()
    write(log)
    t.equal(lines.length, 1, name)
    const text = lines.join('')
    // Eight characters of the random part: no part of it that is worth guessing from.
    for (let at = 4; at + 8 <= 42; at += 4)
      if (text.toLowerCase().includes(CANARY.slice(at, at + 8).toLowerCase())) t.fail(name)
    t.doesNotThrow(() => JSON.parse(text), `${name}: still JSON`)
  }
  t.end()
})

t.test('other text is unchanged', t => {
  fc.assert(fc.property(fc.string({ unit: 'binary' }), text => redactTokens(text) === text))
  t.equal(
    redactTokens('Bearer sla_aB-9_x, sla_ SLA%5fx'),
    'Bearer sla_[redacted], sla_ sla_[redacted]',
  )
  t.equal(
    redactTokens('Bearer slk_aB9, slk_ SLK%5Fx'),
    'Bearer slk_[redacted], slk_ slk_[redacted]',
  )
  t.equal(redactTokens('/slt_0 salt_ slt slt- slt_'), '/slt_[redacted] salt_ slt slt- slt_')
  t.end()
})

t.test('a long line is truncated after its tokens are redacted', t => {
  const { lines, log } = collect({ ...defaults, lineCharsMax: 400 })
  log.info('x'.repeat(60) + CANARY + '!'.repeat(1_000))
  log.info('short')
  const [long = '', short = ''] = lines
  t.ok(long.length < 600, `${long.length}`)
  t.match(JSON.parse(long), { level: 'warn', msg: 'a long line was cut', chars: Number })
  t.notOk(long.includes(CANARY.slice(4, 12)))
  t.equal(JSON.parse(short).msg, 'short')
  t.end()
})

t.test('lines below the level are not written', t => {
  const { lines, log } = collect({ ...defaults, level: 'error' })
  log.warn('no')
  log.error('yes')
  t.equal(lines.length, 1)
  t.end()
})

t.test('flush writes every line to standard output', t => {
  const url = moduleUrl('src/shared/log')
  const script = `
    const { openLog } = await import('${url}')
    const { log, flush, droppedCount } = openLog('indexer')
    for (let line = 0; line < 1000; line++) log.info({ line }, '${CANARY}')
    flush()
    if (droppedCount() > 0) throw new Error('dropped')
    process.exit(0)`
  const cwd = repositoryPath('')
  const args = [...process.execArgv, '--input-type=module', '--eval', script]
  const { stdout, status, stderr } = spawnSync(process.execPath, args, { cwd, encoding: 'utf8' })
  t.equal(status, 0, stderr)
  const lines = stdout.trimEnd().split('\n')
  // A thread may be writing the first of them meanwhile: it then comes after the others.
  const numbers = lines.map(line => Number(JSON.parse(line).line)).toSorted((a, b) => a - b)
  t.strictSame(
    numbers,
    Array.from({ length: 1_000 }, (_, line) => line),
  )
  t.notOk(stdout.includes(CANARY))
  t.end()
})
