import t from 'tap'
import { chargeReply } from '../../src/rpc/charge-reply.js'
import type { Body, BodySource, Reply } from '../../src/shared/http.js'

const charged = (body: Body) => {
  const charges: number[] = []
  const reply: Reply = { status: 200, contentType: '', body }
  const context = { id: '', chargeReply: (requests: number) => void charges.push(requests) }
  return { charges, sent: chargeReply(reply, context, 10).body }
}

t.test('a reply of known length is charged once, if it is longer than a request', t => {
  const sized = (byteLength: number): BodySource => ({ byteLength, read: () => 0, close() {} })
  for (const toBody of [(bytes: number) => 'x'.repeat(bytes), Buffer.alloc, sized])
    t.strictSame(
      [0, 10, 11, 20, 21].map(bytes => charged(toBody(bytes)).charges),
      [[], [], [2], [2], [3]],
    )
  t.end()
})

t.test('a source of unknown length is charged as it is read', async t => {
  let reads = 0
  let closeCount = 0
  const source: BodySource = {
    byteLength: undefined,
    read: () => [7, Promise.resolve(7), 7, Promise.resolve(0)][reads++] ?? 0,
    close: () => void closeCount++,
  }
  const { charges, sent } = charged(source)
  if (typeof sent === 'string' || sent instanceof Uint8Array) throw new Error('no source')
  const into = new Uint8Array(8)
  for (let count = 1; count > 0;) count = await sent.read(into)
  sent.close()
  t.strictSame(charges, [1, 2, 3, 3])
  t.equal(closeCount, 1)
})

t.test('who cannot be charged gets its reply as it is', t => {
  const reply: Reply = { status: 200, contentType: '', body: 'x'.repeat(99) }
  t.equal(chargeReply(reply, { id: '' }, 10), reply)
  t.end()
})
