import t from 'tap'
import { EXAMPLE, type Config } from '../../src/config/config.js'
import { fixedDifferences } from '../../src/config/fixed-options.js'

const { processes, access, networks } = EXAMPLE
const [network] = networks

t.test('options that processes share while they are replaced are fixed', async t => {
  const cases: [name: string, change: Partial<Config>, differences: string[]][] = [
    ['nothing', {}, []],
    ['what one process has', { rpc: { ...EXAMPLE.rpc, readTimeoutMs: 1 } }, []],
    ['a folder', { dataDir: '/other' }, ['dataDir']],
    ['edges', { processes: { ...processes, edgeCount: 200 } }, ['processes.edgeCount']],
    [
      'rows of the limit table',
      { access: { ...access, limits: { ...access.limits, accessesMax: 7 } } },
      ['access.limits.accessesMax'],
    ],
    [
      'a network',
      { networks: network === undefined ? [] : [network, { ...network, id: 'other' }] },
      ['networks.id'],
    ],
    [
      'several',
      { dataDir: '/other', processes: { ...processes, disableCpuIdle: true } },
      ['dataDir', 'processes.disableCpuIdle'],
    ],
  ]
  for (const [name, change, differences] of cases)
    t.strictSame(fixedDifferences(EXAMPLE, { ...EXAMPLE, ...change }), differences, name)
})
