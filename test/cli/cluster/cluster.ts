import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openControl, NEW_ACCESS } from '../../fixtures/access/access.js'
import { openEtcd, withoutEtcd } from '../../fixtures/cluster/etcd.js'
import { operate, prepareMachine } from '../../fixtures/cluster/machine.js'

t.test('slotline cluster', { skip: withoutEtcd, timeout: 120_000 }, async t => {
  const etcd = await openEtcd(t, 1)
  const machine = await prepareMachine(t, etcd, { id: 'fra-1', location: 'fra' })
  const { configFile, dataDir } = machine
  const run = (...args: readonly string[]) => operate(t, etcd, configFile, ...args)
  const expect = async (
    t: Test,
    args: readonly string[],
    code: number,
    output: string | RegExp,
  ): Promise<void> => {
    const answer = await run(...args)
    t.match(answer, { code, output }, args.join(' '))
  }

  const own = await openControl(dataDir)
  await own.accessManager.grant(NEW_ACCESS)
  await own.close()
  await expect(t, ['machines'], 1, /^slotline: etcd has no cluster s1: .* cluster init\n$/)
  await expect(t, ['init'], 0, 'cluster s1: 1 accesses taken over\n')
  await expect(t, ['init'], 1, /^slotline: etcd has a cluster s1 already; .*\n$/)
  await expect(t, ['add', 'fra-1', '--location', 'fra', '--control'], 0, 'fra-1 added at fra\n')
  await expect(t, ['add', 'fra-1', '--location', 'fra'], 1, /has a machine fra-1 already/)
  const table = [
    'machine  location  slot  lag  lease  revision  version  state',
    'fra-1    fra       -     -    0.0 s  -         -        not-started\n',
  ]
  await expect(t, ['machines'], 0, table.join('\n'))
  await expect(t, ['control', 'fra-1', '--off'], 0, 'fra-1 may not change accesses\n')
  await expect(t, ['control', 'fra-1'], 0, 'fra-1 may change accesses\n')
  await expect(t, ['control', 'fra-9'], 1, 'slotline: cluster s1 has no machine fra-9\n')
  await expect(t, ['remove', 'fra-1'], 0, 'fra-1 removed\n')
  await expect(t, ['remove', 'fra-1'], 1, 'slotline: cluster s1 has no machine fra-1\n')
  await expect(t, ['add', 'fra-1'], 2, /required option '--location <id>'/)

  const alone = join(etcd.dir, 'alone.toml')
  const text = readFileSync(configFile, 'utf8')
  writeFileSync(alone, text.slice(0, text.indexOf('[cluster]')), { mode: 0o600 })
  const answer = await operate(t, etcd, alone, 'machines')
  t.match(answer, { code: 1, output: /alone\.toml has no section \[cluster\]\n$/ })
})
