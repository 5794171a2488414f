import fc from 'fast-check'
import t from 'tap'
import { createControl, ControlCommandError } from '../../../src/sandbox/geyser/control-command.js'
import type { FeedFaults } from '../../../src/sandbox/geyser/feed-faults.js'

const open = () => {
  const done: unknown[][] = []
  const note =
    (name: string) =>
    (...given: unknown[]): void =>
      void done.push([name, ...given])
  const feed: FeedFaults = {
    dropStreams: note('dropStreams'),
    dropConnections: note('dropConnections'),
    stall: note('stall'),
    burst: note('burst'),
    omitSlot: note('omitSlot'),
    forgeParent: note('forgeParent'),
    doubleSlot: note('doubleSlot'),
    swapSlot: note('swapSlot'),
    forkSlot: note('forkSlot'),
    omitAccount: note('omitAccount'),
    splitSlot: (slot, fault) => {
      note('splitSlot')(slot, fault)
      return ''
    },
    orphanSlot: slot => {
      note('orphanSlot')(slot)
      return ''
    },
    forgetReplay: note('forgetReplay'),
    refuse: note('refuse'),
  }
  return { done, run: createControl(feed, { slot: 7 }) }
}

const commands: readonly [command: object, done: unknown[]][] = [
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
  [{ fault: 'omitAccount' }, ['omitAccount', 7]],
  [{ fault: 'banks', kind: 'dead' }, ['splitSlot', 8, 'dead']],
  [{ fault: 'banks', kind: 'skipped', slot: 9 }, ['splitSlot', 9, 'skipped']],
  [{ fault: 'orphan' }, ['orphanSlot', 7]],
  [{ fault: 'forgetReplay' }, ['forgetReplay']],
  [{ fault: 'refuse', code: 8 }, ['refuse', { code: 8, details: 'injected fault' }, 1]],
]
for (const [command, expected] of commands)
  t.test(JSON.stringify(command), async t => {
    const { done, run } = open()
    run(JSON.stringify(command))
    t.strictSame(done, [expected])
  })

const wrong: readonly [text: string, message: RegExp][] = [
  ['{', /not JSON/],
  ['[]', /not an object/],
  ['{}', /fault must be one of drop, cut/],
  ['{"fault":"toString"}', /fault must be one of/],
  ['{"fault":"cut","slot":7}', /slot is unknown/],
  ['{"fault":"omit","slot":6}', /slot must be a whole number from 7/],
  ['{"fault":"stall"}', /ms must be a whole number/],
  ['{"fault":"burst","slots":0}', /slots must be a whole number from 1/],
  ['{"fault":"banks","kind":"none"}', /kind must be one of handover, equivocation/],
  ['{"fault":"banks","kind":"dead","slot":7}', /slot must be a whole number from 8/],
  ['{"fault":"refuse","code":17}', /code must be a whole number from 1 to 16/],
  ['{"fault":"drop","code":1,"details":5}', /details must be a text/],
]
for (const [command, message] of wrong)
  t.test(command, async t => {
    const { done, run } = open()
    t.throws(() => run(command), message)
    t.strictSame(done, [])
  })

t.test('any text is a command or a ControlCommandError', async () => {
  const text = fc.oneof(
    fc.string(),
    fc.json(),
    fc.object().map(value => JSON.stringify(value)),
  )
  fc.assert(
    fc.property(text, command => {
      try {
        open().run(command)
      } catch (error) {
        if (!(error instanceof ControlCommandError)) throw error
      }
    }),
  )
})
