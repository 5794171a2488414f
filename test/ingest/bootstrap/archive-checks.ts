import t from 'tap'
import { describeChecks } from '../../../src/ingest/bootstrap/archive-checks.js'

t.test('only a full snapshot without a scope proves the sum of lamports', async t => {
  t.match(describeChecks('snapshot', false), { checked: /lamports/, notChecked: /^the lattice/ })
  for (const [kind, isScoped] of [
    ['snapshot', true],
    ['incremental', false],
    ['incremental', true],
  ] as const) {
    const { checked = '', notChecked = '' } = describeChecks(kind, isScoped) ?? {}
    t.notMatch(checked, /lamports/, kind)
    t.match(notChecked, /lattice hash.*lamports/, kind)
  }
  t.equal(describeChecks('rpc', true), undefined)
})
