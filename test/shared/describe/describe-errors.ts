import t from 'tap'
import { describeErrors } from '../../../src/shared/describe/describe-errors.js'

t.test('a code has one error with all its texts, and a plain HTTP failure has none', async t => {
  const names = ['pubkeySize', 'readTimeout', 'missingParam', 'unauthorized', 'pubkeySize'] as const
  t.strictSame(describeErrors(names), [
    { code: -32602, message: 'Invalid param: WrongSize | Missing param at index {index}' },
    { code: -32603, message: 'Read timed out after 30 seconds' },
  ])
})
