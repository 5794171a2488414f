import { randomBytes } from 'node:crypto'
import { chmodSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import t from 'tap'
import { ensureAdminToken, readAdminToken } from '../../../src/access/tokens/admin-token.js'

t.test('the admin token is created once, readable by its owner only', t => {
  const file = join(t.testdir(), 'admin.token')
  t.throws(() => readAdminToken(file), { code: 'ENOENT' })
  const token = ensureAdminToken(file, randomBytes)
  t.match(token.reveal(), /^sla_[A-Za-z0-9_-]{43}$/)
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.equal(readFileSync(file, 'utf8'), `${token.reveal()}\n`)
  t.equal(ensureAdminToken(file, randomBytes).reveal(), token.reveal())
  t.equal(readAdminToken(file).reveal(), token.reveal())
  t.notMatch(inspect(token, { showHidden: true }), token.reveal())
  rmSync(file)
  t.not(ensureAdminToken(file, randomBytes).reveal(), token.reveal())
  t.end()
})

t.test(
  'a file that others can read or without a token is refused, and its text is not printed',
  t => {
    const file = join(t.testdir(), 'admin.token')
    const { message: open = '' } = attempt(file, `sla_${'a'.repeat(43)}`, 0o644)
    t.match(open, /admin\.token can be read by others; run: chmod 600/)
    for (const text of [
      '',
      'hunter2',
      'sla_short',
      `sla_${'a'.repeat(129)}`,
      'sla_ä'.padEnd(50, 'a'),
    ]) {
      const { message = '' } = attempt(file, text, 0o600)
      t.match(message, /is no admin token/, text)
      if (text !== '') t.notOk(message.includes(text))
    }
    t.end()
  },
)

const attempt = (file: string, text: string, mode: number): { readonly message?: string } => {
  writeFileSync(file, text)
  chmodSync(file, mode)
  try {
    readAdminToken(file)
    return {}
  } catch (error) {
    return error instanceof Error ? error : {}
  }
}
