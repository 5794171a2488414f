import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { runToEnd } from '../../fixtures/processes/deployment.js'
import { prepareServe } from '../../fixtures/processes/serve.js'
import { until } from '../../fixtures/until.js'

const BACKUPS = 1
const WIDE = { dashboard: { changesBurstMax: 1_000_000, changesPerMinuteMax: 1_000_000 } }

const open = async (t: Test) => {
  const prepared = await prepareServe(
    t,
    { one: { endpoint: 'http://127.0.0.1:1' } },
    { processes: { edgeCount: 1 } },
  )
  // The section exists already, with its port.
  const text = readFileSync(prepared.configFile, 'utf8')
  const limits = Object.entries(WIDE.dashboard).map(([name, value]) => `${name} = ${value}`)
  const widened = text.replace('[dashboard]\n', `[dashboard]\n${limits.join('\n')}\n`)
  writeFileSync(prepared.configFile, widened, { mode: 0o600 })
  const { accessId, configFile, dashboardUrl, dataDir } = prepared
  const slotline = (...args: readonly string[]) => runToEnd(t, [...args, '--config', configFile])
  const dir = join(dataDir, '..')
  /** Answers the new token of a location. */
  const regenerate = async (location: string): Promise<string> => {
    const authorization = `Bearer ${readFileSync(join(dataDir, 'admin.token'), 'utf8').trim()}`
    const path = `admin/accesses/${accessId}/networks/one/locations/${location}/token/regenerate`
    const response = await fetch(dashboardUrl + path, {
      method: 'POST',
      headers: { authorization },
    })
    const { token } = (await response.json()) as { token: string }
    return token
  }
  /** Status of a read with a token. */
  const statusOf = async (token: string): Promise<number> => {
    const url = `http://127.0.0.1:${prepared.portOf('fra')}/${token}`
    const headers = { 'content-type': 'application/json' }
    const body = '{"jsonrpc":"2.0","id":1,"method":"getVersion"}'
    return (await fetch(url, { method: 'POST', headers, body })).status
  }
  return { prepared, slotline, dir, regenerate, statusOf }
}

t.test('the access store is backed up while it changes, and put back', async t => {
  const { prepared, slotline, dir, regenerate, statusOf } = await open(t)
  const { dataDir, keyFile } = prepared
  const service = await prepared.start()

  let isOver = false
  let changes = 0
  const changing = (async () => {
    for (; !isOver; changes += 1) await regenerate('nyc')
  })()
  for (let index = 0; index < BACKUPS; index += 1) {
    // The next one is under way.
    const former = changes
    await until('a change is made', () => changes > former)
    const made = await slotline('backup', '--access', '--to', join(dir, `busy-${index}`))
    t.equal(made.code, 0, made.output)
    t.match(made.output, `back up ${keyFile} apart from it`)
  }
  isOver = true
  await changing
  const token = await regenerate('fra')
  const settled = join(dir, 'settled')
  t.equal((await slotline('backup', '--access', '--to', settled)).code, 0)
  t.strictSame(readdirSync(settled).sort(), ['backup.json', 'data.mdb'])
  for (const name of readdirSync(settled))
    t.equal(statSync(join(settled, name)).mode & 0o077, 0, `${name} is its user's alone`)
  const key = readFileSync(keyFile, 'utf8').trim()
  t.notMatch(readFileSync(join(settled, 'data.mdb'), 'latin1'), key, 'the key is not in it')
  const later = await regenerate('fra')
  t.equal(await statusOf(token), 401)
  const refused = await slotline('restore', '--access', '--from', settled)
  t.match(refused.output, /^slotline: a Slotline runs on \S+: stop it, then restore\n$/)
  t.equal(await service.stop(), 0)

  for (let index = 0; index < BACKUPS; index += 1) {
    const restored = await slotline('restore', '--access', '--from', join(dir, `busy-${index}`))
    t.equal(restored.code, 0, 'each is of one commit')
  }
  rmSync(join(dataDir, 'access'), { recursive: true })
  const restored = await slotline('restore', '--access', '--from', settled)
  t.equal(restored.code, 0, restored.output)
  t.match(restored.output, /^access store: 1 accesses; .* revoke again what was revoked since\n$/)
  const second = await prepared.start()
  t.equal(await statusOf(token), 200, 'the token of the backup')
  t.equal(await statusOf(later), 401, 'a later one')
  t.equal(await second.stop(), 0)

  await t.test('a backup that is damaged, or whose key is not there, is refused', async t => {
    const store = join(dataDir, 'access', 'data.mdb')
    const before = readFileSync(store)
    const wrong = async (says: RegExp, from = settled): Promise<void> => {
      const { code, output } = await slotline('restore', '--access', '--from', from)
      t.equal(code, 1)
      t.match(output, says)
      t.ok(before.equals(readFileSync(store)), 'the store is as it was')
      t.notOk(readdirSync(dataDir).includes('access.unfinished'))
    }
    renameSync(keyFile, `${keyFile}.apart`)
    await wrong(/access\S*key is missing; put the key with fingerprint \w{16} there\n$/)
    writeFileSync(keyFile, `${'0'.repeat(64)}\n`, { mode: 0o600 })
    await wrong(/is not the key of this backup; put the one with fingerprint/)
    renameSync(`${keyFile}.apart`, keyFile)
    const data = join(settled, 'data.mdb')
    const whole = readFileSync(data)
    writeFileSync(data, whole.subarray(0, whole.length - 1))
    await wrong(/is damaged: it has \d+ bytes in place of \d+\n$/)
    const altered = Buffer.from(whole)
    altered[altered.length >> 1] = (altered[altered.length >> 1] ?? 0) ^ 1
    writeFileSync(data, altered)
    await wrong(/is damaged: its SHA-256 is \w{64} in place of \w{64}\n$/)
    await wrong(/contains no backup of the access store\n$/, dir)
    const both = ['--access', '--network', 'one', '--from', settled]
    t.match((await slotline('restore', ...both)).output, 'name --network <id> or --access')
    t.match((await slotline('backup', '--to', settled)).output, 'name --network <id> or --access')
  })
})
