import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { createSecretForms, findAnswerError } from '../../../src/native/upstream/answer.js'

/** More than is read in one turn of the event loop. */
const LONG = 600_000

t.test('a form is found at the edges of what is read in one turn', async t => {
  const { find } = createSecretForms([], ['a-secret-key'])
  const escaped = '&#97;-secret%2Dke\\u0079'
  for (const form of ['a-secret-key', 'A-SECRET-KEY', escaped])
    for (let start = 256 * 1024 - 30; start < 256 * 1024 + 3; start++) {
      const text = Buffer.alloc(LONG, '\\')
      text.fill('x', start - 1, start)
      text.write(form, start)
      t.strictSame(await find(text), [start, start + form.length], `${form} at ${start}`)
    }
})

/** The error of an answer by a parser. */
const reference = (answer: unknown): { code: number; message: string } | undefined => {
  const isObject = typeof answer === 'object' && answer !== null && !Array.isArray(answer)
  const error: unknown = isObject && 'error' in answer ? answer.error : undefined
  if (error === undefined || error === null) return undefined
  const { code, message } = { code: 0, message: '', ...Object(Array.isArray(error) ? {} : error) }
  return {
    code: Number.isInteger(code) && Math.abs(code) < 2 ** 31 ? code : 0,
    message: typeof message === 'string' ? message : '',
  }
}

const name = fc.constantFrom('error', 'code', 'message', 'result', 'id', '"', 'error ')
const { value } = fc.letrec<{ value: unknown }>(tie => ({
  value: fc.oneof(
    { depthSize: 'medium' },
    fc.constantFrom(null, true, 0, -32_002, 1.5, 2 ** 40, '{"error":{"code":1}}', '\\"'),
    fc.string({ unit: 'grapheme', maxLength: 20 }),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(name, tie('value'), { maxKeys: 4 }),
  ),
}))

t.test('the error of an answer is that of a parser', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(name, value, { maxKeys: 5 }),
      fc.constantFrom(0, 1, 2),
      async (answer, spaces) => {
        const text = JSON.stringify(answer, undefined, spaces)
        const found = await findAnswerError(Buffer.from(text))
        assert.deepStrictEqual(found, reference(JSON.parse(text)))
      },
    ),
    { numRuns: 500 },
  )
})

t.test('an error is found in answers of every length and depth', async t => {
  const error = '"error":{"code":-32002,"message":"a \\"reason\\""}'
  const found = { code: -32_002, message: 'a "reason"' }
  const filled = (unit: string): string => unit.repeat(LONG / unit.length)
  for (const fill of [
    `"${filled('\\"')}"`,
    `"${filled('"error":{"code":1},'.replaceAll('"', '\\"'))}"`,
    `[${filled('{"error":{"code":1}},')}1]`,
    filled('[').padEnd(2 * LONG, ']'),
    filled('{"error":').padEnd(LONG + 9, '1') + '}'.repeat(Math.floor(LONG / 9)),
  ]) {
    t.strictSame(await findAnswerError(Buffer.from(`{"result":${fill},${error}}`)), found)
    t.strictSame(await findAnswerError(Buffer.from(`{${error},"result":${fill}}`)), found)
    t.equal(await findAnswerError(Buffer.from(`{"result":${fill}}`)), undefined)
  }
})

t.test('a long message is cut between characters', async t => {
  for (const unit of ['a', 'é', '\\u00e9', '\\"', '𝒳'])
    for (const shift of ['', 'b', 'bc', 'bcd', 'bcde', 'bcdef']) {
      const message = `${shift}${unit.repeat(2_000)}`
      const answer = Buffer.from(`{"error":{"code":5,"message":"${message}"}}`)
      const found = await findAnswerError(answer)
      const whole = String(JSON.parse(`"${message}"`))
      const cut = found?.message.replace(/\ufffd+$/, '') ?? ''
      t.ok(cut.length > 100 && whole.startsWith(cut), `${unit}: ${found?.message.slice(-10)}`)
    }
})
