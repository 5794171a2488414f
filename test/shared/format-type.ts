import t from 'tap'
import { formatEcho, formatType } from '../../src/shared/format-type.js'

const cases: [json: string, type: string][] = [
  ['null', 'null'],
  ['{}', 'map'],
  ['[1]', 'sequence'],
  ['false', 'boolean `false`'],
  ['0', 'integer `0`'],
  ['-5', 'integer `-5`'],
  ['9007199254740991', 'integer `9007199254740991`'],
  ['18446744073709551615', 'integer `18446744073709552000`'],
  ['-9223372036854775808', 'integer `-9223372036854776000`'],
  ['1e22', 'floating point `10000000000000000000000.0`'],
  ['-1.25e25', 'floating point `-12500000000000000000000000.0`'],
  ['1.5', 'floating point `1.5`'],
  ['-0.001', 'floating point `-0.001`'],
  ['1.5e-7', 'floating point `0.00000015`'],
  ['-1e-9', 'floating point `-0.000000001`'],
  ['1e400', 'floating point `inf`'],
  ['-1e400', 'floating point `-inf`'],
  ['""', 'string ""'],
  ['"a b"', 'string "a b"'],
  ['"\\"\\\\\'"', 'string "\\"\\\\\'"'],
  ['"\\n\\r\\t\\u0000\\u0007\\u007f\\u0085é"', 'string "\\n\\r\\t\\0\\u{7}\\u{7f}\\u{85}é"'],
]
for (const [json, type] of cases)
  t.test(json, async t => t.equal(formatType(JSON.parse(json)), type))

t.test('a long text is truncated', async t => {
  t.equal(formatEcho('a'.repeat(128)), 'a'.repeat(128))
  t.equal(formatEcho('a'.repeat(129)), `${'a'.repeat(128)}…`)
  t.equal(formatType('"'.repeat(129)), `string "${'\\"'.repeat(128)}…"`)
})
