import t from 'tap'
import { findTomlLine } from '../../../src/config/errors/toml-line.js'

const SOURCE = `a = 1
# b = 2
b.c = 2
[t]
a = 3
  [t.u]
  a = 4
[[l]]
a = 5
[[l]]
a = 6
  [l.x]
  a = 7
  [[l.y]]
  a = 8
  [[l.y]]
  a = 9
[[l]]
  [[l.y]]
  a = 10
`
const cases: [keys: string, line: number | undefined][] = [
  ['a', 1],
  ['b.c', 3],
  ['b.c.d', 3],
  ['t', 4],
  ['t.a', 5],
  ['t.z', 4],
  ['t.u.a', 7],
  ['l.0.a', 9],
  ['l.1.a', 11],
  ['l.1.x.a', 13],
  ['l.1.y.0.a', 15],
  ['l.1.y.1.a', 17],
  ['l.2.y.0.a', 20],
  ['l.2.a', 18],
  ['l.3', undefined],
  ['z', undefined],
]
for (const [keys, line] of cases)
  t.equal(findTomlLine(SOURCE, keys.split('.')), line, `${keys} is at line ${line}`)
