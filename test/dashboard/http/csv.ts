import t from 'tap'
import { toCsvLine } from '../../../src/dashboard/http/csv.js'

t.test('fields are those of RFC 4180, and no formulas', t => {
  const cases: [fields: (string | number)[], line: string][] = [
    [['a', 1, ''], 'a,1,\r\n'],
    [['a,b', 'say "x"', 'two\nlines'], '"a,b","say ""x""","two\nlines"\r\n'],
    [['=1+1', '+1', '-1', '@x', '\tx'], "'=1+1,'+1,'-1,'@x,'\tx\r\n"],
    [[-1], '-1\r\n'],
    [['=a,b'], '"\'=a,b"\r\n'],
  ]
  for (const [fields, line] of cases) t.equal(toCsvLine(fields), line)
  t.end()
})
