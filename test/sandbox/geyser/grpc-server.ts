import { connect } from 'node:http2'
import { gzipSync } from 'node:zlib'
import * as grpc from '@grpc/grpc-js'
import t, { type Test } from 'tap'
import { encodeFrameHeader, GrpcError } from '../../../src/sandbox/geyser/grpc-message.js'
import { openGrpcServer } from '../../../src/sandbox/geyser/grpc-server.js'

const METHODS = {
  unary: {
    '/s/Echo': (request: Buffer) => request,
    '/s/Fail': () => {
      throw new GrpcError(9, 'not so: 100 % ü')
    },
  },
  streaming: {
    '/s/Twice': (stream: { write(frames: Buffer): boolean; end(status: object): void }) => ({
      message(bytes: Buffer) {
        const frame = Buffer.concat([encodeFrameHeader(bytes.length), bytes])
        stream.write(Buffer.concat([frame, frame]))
        if (bytes.toString() === 'end') stream.end({ code: 0, details: '' })
      },
      drained() {},
      closed() {},
    }),
  },
}

const open = async (t: Test) => {
  const options = { host: '127.0.0.1', port: 0, requestBytesMax: 1_000 }
  const server = await openGrpcServer(METHODS, options)
  t.teardown(() => server.close())
  const client = new grpc.Client(`127.0.0.1:${server.port}`, grpc.credentials.createInsecure())
  t.teardown(() => client.close())
  const same = (bytes: Buffer) => bytes
  const ask = (path: string, request: Buffer) =>
    new Promise<Buffer>((resolve, reject) => {
      client.makeUnaryRequest(path, same, same, request, (error, reply) =>
        reply === undefined ? reject(error) : resolve(reply),
      )
    })
  return { ask, server, client, same }
}

t.test('unary calls are answered', async t => {
  const { ask } = await open(t)
  const message = Buffer.alloc(1_000, 7)
  t.strictSame(await ask('/s/Echo', message), message)
  t.strictSame(await ask('/s/Echo', Buffer.alloc(0)), Buffer.alloc(0))
  await t.rejects(ask('/s/Echo', Buffer.alloc(1_001)), { code: 8, details: /exceeds 1000 bytes/ })
  await t.rejects(ask('/s/Fail', message), { code: 9, details: 'not so: 100 % ü' })
  await t.rejects(ask('/s/None', message), { code: 12, details: 'unknown method /s/None' })
})

t.test('a stream sends several messages in one write', async t => {
  const { client, same } = await open(t)
  const call = client.makeBidiStreamRequest('/s/Twice', same, same)
  const received: string[] = []
  call.on('data', (bytes: Buffer) => received.push(bytes.toString()))
  call.write(Buffer.from('one'))
  call.write(Buffer.from('end'))
  const status = await new Promise<grpc.StatusObject>(resolve => call.on('status', resolve))
  t.equal(status.code, 0)
  t.strictSame(received, ['one', 'one', 'end', 'end'])
})

t.test('compressed requests are decoded, other protocols refused', async t => {
  const { server } = await open(t)
  const session = connect(`http://127.0.0.1:${server.port}`)
  t.teardown(() => session.close())
  const post = async (headers: Record<string, string>, body: Buffer) => {
    const stream = session.request({ ':method': 'POST', ':path': '/s/Echo', ...headers })
    const seen: Record<string, unknown> = {}
    stream.on('response', sent => Object.assign(seen, sent))
    stream.on('trailers', sent => Object.assign(seen, sent))
    stream.end(body)
    const parts: Buffer[] = []
    for await (const part of stream) parts.push(part as Buffer)
    return { seen, body: Buffer.concat(parts) }
  }
  const type = { 'content-type': 'application/grpc' }
  const zipped = gzipSync(Buffer.from('hello'))
  const framed = Buffer.concat([encodeFrameHeader(zipped.length), zipped])
  framed[0] = 1
  const good = await post({ ...type, 'grpc-encoding': 'gzip' }, framed)
  t.strictSame(good.body.subarray(5).toString(), 'hello')
  t.match(good.seen, { 'grpc-status': '0' })
  t.match((await post({ ...type, 'grpc-encoding': 'zstd' }, framed)).seen, { 'grpc-status': '12' })
  framed.fill(255, 15)
  t.match((await post({ ...type, 'grpc-encoding': 'gzip' }, framed)).seen, { 'grpc-status': '13' })
  t.match((await post(type, Buffer.alloc(0))).seen, { 'grpc-status': '13' })
  t.match((await post({ 'content-type': 'text/plain' }, framed)).seen, { ':status': 415 })
})
