import t from 'tap'
import { parseArguments } from '../../bench/arguments.js'
import { parseWrk } from '../../bench/load-generators/parse-wrk.js'
import { formatMachine, listsAvx512 } from '../../bench/report/machine.js'
import {
  formatCpuTime,
  formatFigure,
  isFailed,
  meetsTarget,
  regressions,
} from '../../bench/report/report.js'

t.test('wrk with lost requests gives its rate and its own words', async t => {
  const rate = 'Requests/sec:  12345.67\nTransfer/sec:      1.95MB\n'
  t.strictSame(parseWrk(rate), { requestsPerSecond: 12_345.67, complaint: undefined })
  const errors = '  Socket errors: connect 0, read 3, write 0, timeout 1\n'
  t.strictSame(parseWrk(`${errors}  Non-2xx or 3xx responses: 7\n${rate}`), {
    requestsPerSecond: 12_345.67,
    complaint: 'Socket errors: connect 0, read 3, write 0, timeout 1; Non-2xx or 3xx responses: 7',
  })
  t.strictSame(parseWrk('unable to connect\n'), {
    requestsPerSecond: undefined,
    complaint: 'unable to connect',
  })
})

t.test('the machine line says whether the processor has AVX-512', async t => {
  const flags = 'processor\t: 0\nflags\t\t: fpu avx2 avx512f avx512dq\n'
  t.ok(listsAvx512(flags))
  t.notOk(listsAvx512(flags.replaceAll('avx512', 'avx')))
  const machine = { cores: 2, memoryGb: 8, load: 0.5, node: 'v20.0.0', commit: 'abc' }
  t.equal(
    formatMachine({ cpu: 'Some CPU', hasAvx512: false, ...machine }),
    'Some CPU without AVX-512, 2 cores, 8 GB, load 0.5; Node v20.0.0; commit abc',
  )
})

t.test('a figure is shown with its target, and one that is no number misses it', async t => {
  const figure = {
    name: 'edge / bare',
    value: 0.75,
    unit: '×',
    better: 'higher',
    target: 0.8,
  } as const
  t.match(formatFigure(figure), /edge \/ bare +0.75 × +target ≥ 0.8: MISSED$/)
  t.equal(meetsTarget({ ...figure, value: 0.8 }), true)
  t.equal(meetsTarget({ ...figure, value: NaN }), false)
  t.equal(
    formatCpuTime('edge', 6.514, 12.0),
    'edge: 6.51 µs user and 12 µs system time per request',
  )
})

t.test(
  'a run fails where a target is missed, a quick one only where it is much slower',
  async t => {
    const figure = { name: 'a', value: 31, unit: 'ms', better: 'lower' } as const
    t.strictSame(regressions([figure], { a: 10 }), ['a: 31 ms, baseline 10'])
    t.strictSame(regressions([figure], { a: 11 }), [])
    t.strictSame(regressions([{ ...figure, isTail: true }], { a: 1 }), [])
    t.equal(isFailed({ isQuick: false, missed: 1, worse: 0 }), true)
    t.equal(isFailed({ isQuick: true, missed: 1, worse: 0 }), false)
    t.equal(isFailed({ isQuick: true, missed: 0, worse: 1 }), true)
    t.equal(isFailed({ isQuick: false, missed: 0, worse: 0 }), false)
  },
)

t.test('the command line names parts and flags', async t => {
  const known = { usual: ['apply', 'latency'], onDemand: ['layers'] }
  t.strictSame(parseArguments(['--quick'], known), {
    parts: new Set(['apply', 'latency']),
    isQuick: true,
    savesBaseline: false,
  })
  t.strictSame(parseArguments(['layers'], known).parts, new Set(['layers']))
  t.throws(() => parseArguments(['lairs'], known), /lairs is unknown; there are apply, latency/)
})
