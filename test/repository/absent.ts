import t, { type Test } from 'tap'
import { sharedPath } from '../fixtures/shared.js'
import { skipAbsent, unlessPresent } from '../fixtures/skip-absent.js'

const { CI } = process.env
t.teardown(() => (CI === undefined ? delete process.env['CI'] : (process.env['CI'] = CI)))

const ABSENT = 'no such folder'

/** What `skipAbsent` makes of a test. */
const ended = (): readonly string[] => {
  const calls: string[] = []
  const test = {
    fail: (advice: string) => calls.push(`failed: ${advice}`),
    plan: (count: number, advice: string) => calls.push(`${count} planned: ${advice}`),
  }
  skipAbsent(test as unknown as Test, 'install it')
  return calls
}

t.test('in CI what is absent fails', async t => {
  process.env['CI'] = 'true'
  t.throws(() => sharedPath(ABSENT), /no such folder is absent/)
  t.equal(unlessPresent(false, 'install it'), false, 'the test runs')
  t.strictSame(ended(), ['failed: install it'])
})

t.test('elsewhere it is skipped, never passed', async t => {
  process.env['CI'] = ''
  t.equal(sharedPath(ABSENT), undefined)
  t.equal(unlessPresent(false, 'install it'), 'install it')
  t.equal(unlessPresent(true, 'install it'), false)
  t.strictSame(ended(), ['0 planned: install it'])
})
