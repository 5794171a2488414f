import { statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ownDir } from '../fixtures/own-dir.js'
import { runToEnd, startDeployment } from '../fixtures/processes/deployment.js'

t.test('every command works on a sandbox by its data directory alone', async t => {
  const dir = ownDir(t)
  const dataDir = join(dir, 'data')
  const deployment = await startDeployment(t, { dataDir, args: ['--edges', '1'] })
  const network = ['--network', 'sandbox']
  const backup = join(dir, 'backup')
  const cases: [args: string[], code: number, output: RegExp][] = [
    [['status'], 0, /^network sandbox: healthy\n/],
    [['verify'], 0, /network sandbox, store \w+: no differences/],
    [['backup', ...network, '--to', backup], 0, /network sandbox as of slot \d+/],
    [['bootstrap', 'cancel', ...network], 1, /no bootstrap of network sandbox runs\n$/],
    [['bootstrap', 'rpc', ...network], 1, /needs a scope|accountsRpc/],
    [['snapshot', 'load', join(dir, 'none'), ...network], 1, /none does not exist\n$/],
    [['access', 'list'], 0, /"accesses": \[\n/],
    [['config', 'dump'], 0, /\nid = "sandbox"\n/],
  ]
  for (const [args, code, output] of cases) {
    const ended = await runToEnd(t, [...args, '--data-dir', dataDir])
    t.equal(ended.code, code, args.join(' '))
    t.match(ended.output, output)
  }
  t.equal(statSync(join(dataDir, 'service.json')).mode & 0o777, 0o600)
  t.equal(await deployment.stop(), 0)
  const restored = await runToEnd(t, [
    ...['restore', '--data-dir', dataDir, '--from', backup],
    ...network,
  ])
  t.match(restored, { code: 0, output: /network sandbox: store \w+, as of slot \d+/ })
})
