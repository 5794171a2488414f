import t from 'tap'
import * as v from 'valibot'
import { closestWord } from '../../../src/config/errors/closest-word.js'
import { integer, oneOf, optionsSchema } from '../../../src/config/validators/options-schema.js'

t.test('a default determines kind, unit and bounds', t => {
  const schema = optionsSchema(
    { waitMs: 5, sizeBytesMax: 7, spareCount: 0, ratio: 0.5, isOn: true, name: '', word: 'a' },
    { word: oneOf(['a', 'b']), sizeBytesMax: integer(2, 9, 'bytes') },
  )
  const cases: [given: object, isRight: boolean][] = [
    [{}, true],
    [{ waitMs: 1 }, true],
    [{ waitMs: 0 }, false],
    [{ spareCount: 0 }, true],
    [{ sizeBytesMax: 2 }, true],
    [{ sizeBytesMax: 1 }, false],
    [{ sizeBytesMax: 10 }, false],
    [{ ratio: 0.25 }, true],
    [{ ratio: -0.25 }, false],
    [{ isOn: false }, true],
    [{ isOn: 'no' }, false],
    [{ name: 'x' }, true],
    [{ name: 1 }, false],
    [{ word: 'b' }, true],
    [{ word: 'c' }, false],
    [{ other: 1 }, false],
  ]
  for (const [given, isRight] of cases)
    t.equal(v.safeParse(schema, given).success, isRight, JSON.stringify(given))
  t.strictSame(v.parse(schema, { waitMs: 6 }), {
    waitMs: 6,
    sizeBytesMax: 7,
    spareCount: 0,
    ratio: 0.5,
    isOn: true,
    name: '',
    word: 'a',
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
