import fc from 'fast-check'
import t from 'tap'
import { decodeFields, MessageWriter, ProtobufError } from '../../../src/sandbox/geyser/protobuf.js'
import { yellowstone } from '../../fixtures/sandbox/yellowstone.js'

const { SubscribeUpdateAccountInfo } = yellowstone
const u64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })
const bytes = fc.uint8Array({ maxLength: 300 })

t.test('the official codec decodes encoded messages', async t => {
  const checked = fc.property(bytes, u64, u64, fc.boolean(), (data, lamports, epoch, flag) => {
    const written = new MessageWriter(1)
      .uint(2, lamports)
      .bool(4, flag)
      .uint(5, epoch)
      .bytesField(6, data)
      .bytesAlways(8, data)
      .finish()
    const read = SubscribeUpdateAccountInfo.decode(written)
    t.equal(read.lamports, String(lamports))
    t.equal(read.rentEpoch, String(epoch))
    t.equal(read.executable, flag)
    t.equal(Buffer.compare(read.data, data), 0)
    t.equal(Buffer.compare(read.txnSignature ?? Buffer.of(1), data), 0)
  })
  fc.assert(checked, { numRuns: 200 })
})

t.test('what the official codec encodes is decoded', async t => {
  const checked = fc.property(bytes, u64, (data, lamports) => {
    const fields = decodeFields(
      SubscribeUpdateAccountInfo.encode(
        SubscribeUpdateAccountInfo.fromPartial({ lamports: String(lamports), txnSignature: data }),
      ).finish(),
    )
    t.equal(fields.find(({ number }) => number === 2)?.varint ?? 0n, lamports)
    t.equal(Buffer.compare(fields.find(({ number }) => number === 8)?.bytes ?? data, data), 0)
  })
  fc.assert(checked, { numRuns: 200 })
})

t.test('negative, fractional and packed numbers are encoded', async t => {
  const written = new MessageWriter()
    .int(1, -1)
    .double(2, 0.5)
    .message(3, new MessageWriter().packedUint(0n).packedUint(2n ** 60n))
    .finish()
  const [negative, packed] = decodeFields(written)
  t.equal(negative?.varint, 2n ** 64n - 1n)
  t.equal(packed?.bytes.length, 10)
})

t.test('any bytes give fields or a ProtobufError', async t => {
  const checked = fc.property(fc.uint8Array({ maxLength: 40 }), input => {
    try {
      return Array.isArray(decodeFields(input))
    } catch (error) {
      return error instanceof ProtobufError
    }
  })
  fc.assert(checked, { numRuns: 3_000 })
  t.throws(() => decodeFields(Buffer.of(0x0a, 5, 1)), /ends inside a field/)
  t.throws(() => decodeFields(Buffer.of(0x08)), /ends inside a number/)
  t.throws(() => decodeFields(Buffer.alloc(12, 0xff)), /longer than 10 bytes/)
  t.throws(() => decodeFields(Buffer.of(0x0b)), /wire type 3/)
})
