import t from 'tap'
import {
  collect,
  instant,
  instantOrMs,
  instantOrNever,
  integer,
  limits,
  line,
} from '../../src/cli/arguments.js'

t.test('integers are bounded', t => {
  const read = integer(1, 10)
  for (const value of ['1', '10']) t.equal(read(value), Number(value))
  for (const value of ['0', '11', '1.5', 'x', 'NaN', '1e9'])
    t.throws(() => read(value), { message: /integer from 1 to 10/ }, value)
  t.end()
})

t.test('free text must be one line', t => {
  t.equal(line(' the wrong cluster '), 'the wrong cluster')
  t.equal(line('x'.repeat(200)).length, 200)
  for (const value of ['', ' ', 'a\nb', 'a\u001b[2J', 'a\u202eb', 'x'.repeat(201)])
    t.throws(() => line(value), { message: /one line of at most 200/ }, JSON.stringify(value))
  t.end()
})

t.test('times are UTC, complete, and of existing days', t => {
  const right: [value: string, iso: string][] = [
    ['2027-01-31', '2027-01-31T00:00:00.000Z'],
    ['2027-01-31T12:00Z', '2027-01-31T12:00:00.000Z'],
    ['2027-01-31T12:00:01Z', '2027-01-31T12:00:01.000Z'],
    ['2027-01-31T12:00:01.5Z', '2027-01-31T12:00:01.500Z'],
  ]
  for (const [value, iso] of right) t.equal(new Date(instant(value)).toISOString(), iso)
  const wrong = ['', '2027', '2027-13-01', '2027-02-30', '2027-01-31T12:00', '2027-01-31 12:00Z']
  for (const value of [...wrong, '1798761600000', 'tomorrow', '2027-01-31T25:00Z'])
    t.throws(() => instant(value), { message: /a date, or a time/ }, value)
  t.equal(instantOrMs('2027-01-31'), Date.UTC(2027, 0, 31))
  t.equal(instantOrMs('1798761600000'), 1_798_761_600_000)
  for (const value of ['1', '2027', '-1798761600000', '1798761600000.5', '1e12', 'tomorrow'])
    t.throws(() => instantOrMs(value), { message: /a date, or a time .*Unix milliseconds/ }, value)
  t.equal(instantOrNever('never'), 'never')
  t.equal(instantOrNever('2027-01-31'), Date.UTC(2027, 0, 31))
  t.strictSame(collect('b', collect('a')), ['a', 'b'])
  t.end()
})

t.test('limits are named, and a later one replaces an earlier one', t => {
  t.strictSame(limits('socketsMax=4, requestsBurstMax=0'), { socketsMax: 4, requestsBurstMax: 0 })
  t.strictSame(limits('socketsMax=5', limits('socketsMax=4')), { socketsMax: 5 })
  for (const value of ['', 'x', 'socketsMax', 'socketsMax=', 'sockets=1', 'socketsMax=1=2'])
    t.throws(() => limits(value), { message: /like socketsMax=4,.*of requestsPerSec/ }, value)
  for (const value of ['socketsMax=-1', 'socketsMax=1.5', 'socketsMax=4294967296'])
    t.throws(() => limits(value), { message: /integer from 0 to 4294967295/ }, value)
  t.end()
})
