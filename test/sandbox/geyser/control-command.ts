import fc from 'fast-check'
import t from 'tap'
import { createControl, ControlCommandError } from '../../../src/sandbox/geyser/control-command.js'
import type { GeyserServer } from '../../../src/sandbox/geyser/geyser.js'

const open = () => {
  const done: unknown[][] = []
  const note =
    (name: string) =>
    (...given: unknown[]): void =>
      void done.push([name, ...given])
  const feed: GeyserServer = {
    url: '',
    dropStreams: note('dropStreams'),
    dropConnections: note('dropConnections'),
    stall: note('stall'),
    burst: note('burst'),
    omitSlot: note('omitSlot'),
    forgeParent: note('forgeParent'),
    doubleSlot: note('doubleSlot'),
    swapSlot: note('swapSlot'),
    forkSlot: note('forkSlot'),
    forgetReplay: note('forgetReplay'),
    refuse: note('refuse'),
    close: () => Promise.reject(new Error('not asked for')),
  }
  return { done, take: createControl(feed, { slot: 7 }) }
}

const orders: readonly [order: object, done: unknown[]][] = [
  [{ fault: 'drop' }, ['dropStreams', undefined]],
  [{ fault: 'drop', code: 13, details: 'x' }, ['dropStreams', { code: 13, details: 'x' }]],
  [{ fault: 'cut' }, ['dropConnections']],
  [{ fault: 'stall', ms: 5 }, ['stall', 5]],
  [{ fault: 'burst', slots: 10 }, ['burst', 10]],
  [{ fault: 'omit', slot: 9 }, ['omitSlot', 9, 'always']],
  [{ fault: 'omit', isReplayed: true }, ['omitSlot', 7, 'live']],
  [{ fault: 'forgeParent' }, ['forgeParent', 7]],
  [{ fault: 'double', slot: 8 }, ['doubleSlot', 8]],
  [{ fault: 'swap' }, ['swapSlot', 7]],
  [{ fault: 'fork' }, ['forkSlot', 7]],
  [{ fault: 'forgetReplay' }, ['forgetReplay']],
  [{ fault: 'refuse', code: 8 }, ['refuse', { code: 8, details: 'told to' }, 1]],
]
for (const [order, expected] of orders)
  t.test(JSON.stringify(order), async t => {
    const { done, take } = open()
    take(JSON.stringify(order))
    t.strictSame(done, [expected])
  })

const wrong: readonly [order: string, said: RegExp][] = [
  ['{', /not JSON/],
  ['[]', /not an object/],
  ['{}', /fault must be one of drop, cut/],
  ['{"fault":"toString"}', /fault must be one of/],
  ['{"fault":"cut","slot":7}', /slot is unknown/],
  ['{"fault":"omit","slot":6}', /slot must be a whole number from 7/],
  ['{"fault":"stall"}', /ms must be a whole number/],
  ['{"fault":"burst","slots":0}', /slots must be a whole number from 1/],
  ['{"fault":"refuse","code":17}', /code must be a whole number from 1 to 16/],
  ['{"fault":"drop","code":1,"details":5}', /details must be a text/],
]
for (const [order, said] of wrong)
  t.test(order, async t => {
    const { done, take } = open()
    t.throws(() => take(order), said)
    t.strictSame(done, [])
  })

t.test('any text is an order or a ControlCommandError', async () => {
  const text = fc.oneof(
    fc.string(),
    fc.json(),
    fc.object().map(value => JSON.stringify(value)),
  )
  fc.assert(
    fc.property(text, order => {
      try {
        open().take(order)
      } catch (error) {
        if (!(error instanceof ControlCommandError)) throw error
      }
    }),
  )
})
