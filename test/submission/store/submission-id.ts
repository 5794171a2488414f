import fc from 'fast-check'
import t from 'tap'
import {
  createIds,
  formatId,
  parseId,
  timeOfId,
} from '../../../src/submission/store/submission-id.js'

t.test('an id is a UUID of version 7 of its time', t => {
  const newId = createIds(
    () => 0x017f_22e2_79b0,
    bytes => bytes.fill(0xff),
  )
  // RFC 9562 appendix A.6 has this time.
  t.equal(formatId(newId()), '017f22e2-79b0-7fff-bfff-ffffffffffff')
  t.equal(timeOfId(newId()), 0x017f_22e2_79b0)
  t.end()
})

t.test('no two are alike, and later ones sort behind', t => {
  let ms = 1_900_000_000_000
  const newId = createIds(() => ms)
  const ids = Array.from({ length: 2_000 }, () => {
    ms++
    return newId()
  })
  t.equal(new Set(ids.map(formatId)).size, ids.length)
  t.strictSame(ids.toSorted(Buffer.compare), ids)
  const again = createIds(() => ms)
  t.equal(new Set(Array.from({ length: 2_000 }, () => formatId(again()))).size, 2_000)
  t.end()
})

t.test('text and bytes are one', t => {
  const newId = createIds(Date.now)
  fc.assert(
    fc.property(fc.constant(0), () => {
      const id = newId()
      return Buffer.compare(parseId(formatId(id)) ?? Buffer.alloc(0), id) === 0
    }),
  )
  t.equal(
    formatId(parseId('017F22E2-79B0-7FFF-BFFF-FFFFFFFFFFFF') ?? Buffer.alloc(16)),
    '017f22e2-79b0-7fff-bfff-ffffffffffff',
  )
  const wrong = [
    '',
    '017f22e279b07fffbfffffffffffffff',
    '017f22e2-79b0-4fff-bfff-ffffffffffff',
    '017f22e2-79b0-7fff-cfff-ffffffffffff',
    '017f22e2-79b0-7fff-bfff-fffffffffff',
    ' 017f22e2-79b0-7fff-bfff-ffffffffffff',
  ]
  for (const text of wrong) t.equal(parseId(text), undefined, JSON.stringify(text))
  t.end()
})
