import { chmodSync, existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runToEnd } from '../../fixtures/processes/deployment.js'
import { prepareServe } from '../../fixtures/processes/serve.js'

const modeOf = (path: string): number => statSync(path).mode & 0o777

t.test('what holds secrets and is open to others is refused', async t => {
  const feed = { endpoint: 'http://127.0.0.1:1', xToken: 'canary' }
  const prepared = await prepareServe(t, { one: feed })
  const { configFile, dataDir, keyFile } = prepared
  const access = join(dataDir, 'access')
  const control = join(dataDir, 'control')
  const cases: [path: string, mode: number, right: number][] = [
    [configFile, 0o640, 0o600],
    [configFile, 0o604, 0o600],
    [keyFile, 0o640, 0o600],
    [access, 0o701, 0o700],
    [control, 0o750, 0o700],
  ]
  for (const [path, mode, right] of cases) {
    chmodSync(path, mode)
    const { code, output } = await runToEnd(t, ['serve', '--config', configFile])
    t.equal(code, 1)
    const [given, wanted] = [mode.toString(8), right.toString(8)]
    t.equal(
      output,
      `slotline: ${path} holds secrets and is open to others (mode ${given}); run: chmod ${wanted} ${path}\n`,
    )
    t.equal(modeOf(path), mode, 'the mode is not changed')
    chmodSync(path, right)
  }
  t.notOk(existsSync(join(dataDir, 'admin.token')), 'nothing was started')

  const service = await prepared.start()
  const made = readdirSync(dataDir, { recursive: true, encoding: 'utf8' })
  for (const name of ['admin.token', 'accounts', 'edges']) t.ok(made.includes(name), name)
  // The test itself opened these stores, whose files are reached through their folders only.
  for (const name of made.filter(name => !/^(access|control)\//.test(name)))
    t.equal(modeOf(join(dataDir, name)) & 0o077, 0, `${name} is its user's alone`)
  t.equal(await service.stop(), 0)
})

t.test('a configuration without secrets may be open to others', async t => {
  const prepared = await prepareServe(t, { one: { endpoint: 'http://127.0.0.1:1' } })
  chmodSync(prepared.configFile, 0o644)
  const service = await prepared.start()
  t.equal(await service.stop(), 0)
})
