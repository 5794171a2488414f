import t from 'tap'
import { failureOfAnswer, failureOfStored } from '../../src/submission/failure.js'

const of = (text: string, status = 200) => failureOfAnswer({ status, body: Buffer.from(text) })

t.test('an answer fails by its error, or else by its status', async t => {
  t.equal(of('{"result":1}'), undefined)
  t.equal(of(''), undefined)
  t.strictSame(of('{"error":{"code":-32002,"message":"no"}}'), { code: -32_002, message: 'no' })
  t.strictSame(of('{"error":{"code":-32002,"message":"no"}}', 500), {
    code: -32_002,
    message: 'no',
  })
  t.strictSame(of('{"error":{"code":1e15}}', 500), {
    code: 500,
    message: 'HTTP 500: {"error":{"code":1e15}}',
  })
  t.strictSame(of('', 503), { code: 503, message: 'HTTP 503' })
  t.strictSame(of(' \n', 503), { code: 503, message: 'HTTP 503' })
  t.match(of('é'.repeat(1_000), 400), { message: `HTTP 400: ${'é'.repeat(256)}` }, '512 bytes')
})

t.test('the error of a long answer is found later', async t => {
  const found = of(
    `{"result":"${'x'.repeat(8 * 1024 * 1024)}","error":{"code":7,"message":"late"}}`,
  )
  t.ok(found instanceof Promise)
  t.strictSame(await found, { code: 7, message: 'late' })
})

t.test('a stored error is counted with a code of 32 bits, whatever is stored', async t => {
  t.strictSame(failureOfStored('{"code":-32003,"message":"x","data":1}'), {
    code: -32_003,
    message: 'x',
  })
  t.strictSame(failureOfStored('{"code":1000000000000000,"message":"x"}'), {
    code: 0,
    message: 'x',
  })
  for (const json of ['', 'null', '[]', '{', '7', '{"code":"7"}'])
    t.strictSame(failureOfStored(json), { code: 0, message: '' }, json)
})
