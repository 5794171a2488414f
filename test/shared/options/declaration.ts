import t from 'tap'
import {
  type Declaration,
  defaultsOf,
  rangeOf,
  withDefaults,
} from '../../../src/shared/options/declaration.js'

const why = 'a test'

t.test('a declaration has the range of its unit unless it says another one', async t => {
  const cases: [option: Parameters<typeof rangeOf>[0], min: number, max: number][] = [
    [{ default: 5, unit: 'milliseconds' }, 1, 2 ** 31 - 1],
    [{ default: 0, unit: 'milliseconds' }, 0, 2 ** 31 - 1],
    [{ default: 5, unit: 'bytes' }, 1, Number.MAX_SAFE_INTEGER],
    [{ default: 5, unit: 'sheep' }, 1, 2 ** 32 - 1],
    [{ default: 5, unit: 'bytes', min: 0, max: 9 }, 0, 9],
  ]
  for (const [option, min, max] of cases)
    t.strictSame(rangeOf(option), { min, max }, JSON.stringify(option))
})

t.test('another use of a part has its own defaults', async t => {
  const options = {
    waitMs: { default: 5, unit: 'milliseconds', why },
    path: { default: '/', why },
  } satisfies Declaration
  t.strictSame(defaultsOf(options), { waitMs: 5, path: '/' })
  const own = withDefaults(options, { path: '/other' })
  t.strictSame(own, { ...options, path: { default: '/other', why } })
  t.equal(options.path.default, '/', 'the declaration is not changed')
})
