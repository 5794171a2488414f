import t from 'tap'
import { AccessBounds } from '../../../src/submission/store/access-bounds.js'

t.test('the oldest record of an access makes room for one more', async t => {
  const bounds = new AccessBounds(2)
  t.strictSame(
    ['1', '2', '1', '2'].map(id => bounds.add('a', id)),
    [[], [], [], []],
    'a record that is written again takes no more room',
  )
  t.strictSame(bounds.add('b', '9'), [], 'another access has its own')
  t.strictSame(bounds.add('a', '3'), ['1'])
  t.strictSame(bounds.add('a', '4'), ['2'])
})

t.test('records that the table has lost are forgotten, of one access after the other', async t => {
  const bounds = new AccessBounds(2)
  for (const access of ['a', 'b']) for (const id of ['1', '5']) bounds.add(access, id)
  for (let call = 0; call < 4; call++) bounds.forgetBefore('5')
  for (const access of ['a', 'b']) t.strictSame(bounds.add(access, '6'), [], access)
  for (const access of ['a', 'b']) t.strictSame(bounds.add(access, '7'), ['5'], access)
})

t.test('what was added before the rest was known becomes fewer with each record', async t => {
  const [early, bounds] = [new AccessBounds(2), new AccessBounds(2)]
  for (const id of ['4', '5']) t.strictSame(early.add('a', id), [])
  for (const id of ['1', '2', '3', '4']) bounds.learn('a', id)
  bounds.learnAll(early)
  t.strictSame(bounds.add('a', '6'), ['1', '2'])
  t.strictSame(bounds.add('a', '7'), ['3', '4'])
  t.strictSame(bounds.add('a', '8'), ['5', '6'])
  t.strictSame(bounds.add('a', '9'), ['7'])
})
