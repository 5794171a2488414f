import t from 'tap'
import { AccessBounds } from '../../../src/submission/store/access-bounds.js'

t.test('the oldest record of an access makes room for one more', async t => {
  const bounds = new AccessBounds(2)
  t.strictSame(
    ['1', '2', '1', '2'].map(id => bounds.add('a', id)),
    [undefined, undefined, undefined, undefined],
    'a record that is written again takes no more room',
  )
  t.equal(bounds.add('b', '9'), undefined, 'another access has its own')
  t.equal(bounds.add('a', '3'), '1')
  t.equal(bounds.add('a', '4'), '2')
})

t.test('records that the table has lost are forgotten, of one access after the other', async t => {
  const bounds = new AccessBounds(2)
  for (const access of ['a', 'b']) for (const id of ['1', '5']) bounds.add(access, id)
  for (let call = 0; call < 4; call++) bounds.forgetBefore('5')
  for (const access of ['a', 'b']) t.equal(bounds.add(access, '6'), undefined, access)
  for (const access of ['a', 'b']) t.equal(bounds.add(access, '7'), '5', access)
})
