import t from 'tap'
import * as v from 'valibot'
import { closestWord } from '../../../src/config/errors/closest-word.js'
import { leaf, optionsTable } from '../../../src/config/validators/options-schema.js'
import { type Declaration, defaultsOf } from '../../../src/shared/options/declaration.js'

t.test('a declaration determines kind, unit and bounds', t => {
  const why = 'a test'
  const options = {
    waitMs: { default: 5, unit: 'milliseconds', why },
    sizeBytesMax: { default: 7, unit: 'bytes', min: 2, max: 9, why },
    spareCount: { default: 0, unit: 'count', why },
    isOn: { default: true, why },
    name: { default: 'n', why },
    word: { default: 'a', words: ['a', 'b'], why },
    path: { default: '/', why },
  } satisfies Declaration
  const defaults = { ...defaultsOf(options), pauseMs: 3 }
  const paths = leaf<string>(value => String(value).startsWith('/'), 'a path')
  const schema = optionsTable({ options, defaults }, { path: paths })
  const cases: [given: object, isRight: boolean][] = [
    [{}, true],
    [{ waitMs: 1 }, true],
    [{ waitMs: 0 }, false],
    [{ spareCount: 0 }, true],
    [{ sizeBytesMax: 2 }, true],
    [{ sizeBytesMax: 1 }, false],
    [{ sizeBytesMax: 10 }, false],
    [{ spareCount: 0.5 }, false],
    [{ spareCount: 2 ** 32 }, false],
    [{ waitMs: 2 ** 31 }, false],
    [{ isOn: false }, true],
    [{ isOn: 'no' }, false],
    [{ name: 'x' }, true],
    [{ name: 1 }, false],
    [{ word: 'b' }, true],
    [{ word: 'c' }, false],
    [{ path: '/a' }, true],
    [{ path: 'a' }, false],
    [{ other: 1 }, false],
    [{ pauseMs: 1 }, false],
  ]
  for (const [given, isRight] of cases)
    t.equal(v.safeParse(schema, given).success, isRight, JSON.stringify(given))
  t.strictSame(v.parse(schema, { waitMs: 6 }), {
    ...defaults,
    waitMs: 6,
  })
  t.end()
})

t.test('the closest word is similar, or none is returned', t => {
  const known = ['drainMs', 'drainNoticeMs', 'startMs', 'level']
  const cases: [word: string, closest: string | undefined][] = [
    ['drainMx', 'drainMs'],
    ['drainms', 'drainMs'],
    ['darinMs', 'drainMs'],
    ['drainNotice', 'drainNoticeMs'],
    ['lvl', 'level'],
    ['levle', 'level'],
    ['whatever', undefined],
    ['', undefined],
  ]
  for (const [word, closest] of cases) t.equal(closestWord(word, known), closest, word)
  t.end()
})
