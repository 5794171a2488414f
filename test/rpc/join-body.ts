import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { joinBody } from '../../src/rpc/join-body.js'
import { readBody, textSource } from '../fixtures/rpc/fake-reads.js'

const anyPart = fc.record({
  text: fc.string({ unit: 'binary', maxLength: 20 }),
  isSource: fc.boolean(),
  isSlow: fc.boolean(),
  stepBytes: fc.integer({ min: 1, max: 9 }),
})

t.test('all bytes are in order, and each source is closed once', async t => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyPart),
      fc.integer({ min: 1, max: 16 }),
      async (parts, intoBytes) => {
        const sources = parts.map(({ text, ...options }) => textSource(text, options))
        const body = joinBody(
          parts.map(({ text, isSource }, index) =>
            isSource ? (sources[index] ?? textSource('')) : Buffer.from(text),
          ),
        )
        const whole = parts.map(({ text }) => text).join('')
        assert.equal(body.byteLength, Buffer.byteLength(whole))
        assert.equal(await readBody(body, intoBytes), Buffer.from(whole).toString())
        body.close()
        for (const [index, { isSource }] of parts.entries())
          assert.equal(sources[index]?.closeCount, isSource ? 1 : 0)
      },
    ),
  )
  t.pass()
})

t.test('close in the middle closes all sources', async t => {
  const sources = [textSource('abc'), textSource('def'), textSource('ghi')]
  const body = joinBody([Buffer.from('['), ...sources])
  const into = new Uint8Array(3)
  await body.read(into)
  await body.read(into)
  await body.read(into)
  t.strictSame(
    sources.map(source => source.closeCount),
    [1, 0, 0],
  )
  body.close()
  body.close()
  t.strictSame(
    sources.map(source => source.closeCount),
    [1, 1, 1],
  )
  t.equal(await body.read(into), 0)
})

t.test('close while a read is pending', async t => {
  const source = textSource('abc', { isSlow: true, stepBytes: 9 })
  const last = textSource('def')
  const body = joinBody([source, last])
  const into = new Uint8Array(9)
  t.equal(await body.read(into), 3)
  const pending = body.read(into)
  body.close()
  await t.rejects(Promise.resolve(pending), { message: 'read after close' })
  t.strictSame([source.closeCount, last.closeCount], [1, 1])
})

t.test('a failing source fails the read', async t => {
  const source = textSource('abcdef', { failsAfter: 3, isSlow: true })
  await t.rejects(readBody(joinBody([Buffer.from('['), source])), {
    message: 'the rest cannot be read',
  })
  t.equal(source.closeCount, 1)
})

t.test('the length is known where all lengths are', async t => {
  t.equal(joinBody([]).byteLength, 0)
  t.equal(await readBody(joinBody([])), '')
  t.equal(
    joinBody([textSource('ab', { hasLength: false }), textSource('cd')]).byteLength,
    undefined,
  )
  t.equal(await readBody(joinBody([textSource('abcd')], 4)), 'abcd')
  await t.rejects(readBody(joinBody([textSource('abcde')], 4)), { name: 'batchReplyTooLong' })
})
