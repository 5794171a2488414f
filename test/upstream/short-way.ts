import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import net, { type AddressInfo, type Socket } from 'node:net'
import tls from 'node:tls'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { createShortWay, type LookAhead } from '../../src/upstream/short-way.js'
import { until } from '../fixtures/until.js'

const pem = (name: string): Buffer =>
  readFileSync(
    fileURLToPath(new URL(`../../native/kernel/tests/geyser_reader/tls/${name}`, import.meta.url)),
  )
const WAYS = ['tcp', 'tls'] as const

/** A socket on its short way, and the other end. */
const open = async (t: Test, way: (typeof WAYS)[number], lookAhead?: LookAhead) => {
  const server =
    way === 'tcp'
      ? net.createServer()
      : tls.createServer({ key: pem('key.pem'), cert: pem('cert.pem') })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const accepted = once(server, way === 'tcp' ? 'connection' : 'secureConnection') as Promise<
    [Socket]
  >
  const { onread, attach } = createShortWay(lookAhead)
  const { port } = server.address() as AddressInfo
  const address = { host: '127.0.0.1', port, onread }
  const socket =
    way === 'tcp' ? net.connect(address) : tls.connect({ ...address, ca: pem('cert.pem') })
  attach(socket)
  const [other] = await accepted
  other.on('error', () => {})
  t.teardown(() => {
    socket.destroy()
    other.destroy()
  })
  if (socket.connecting) await once(socket, way === 'tcp' ? 'connect' : 'secureConnect')
  return { socket, other }
}

/** Reads all that is there, as undici does. */
const drain = (socket: Socket, into: Buffer[]): void => {
  for (let chunk = socket.read(); chunk !== null; chunk = socket.read()) into.push(chunk as Buffer)
}

for (const way of WAYS) {
  t.test(`${way}: bytes come as they are, in the turn in which they are read`, async t => {
    const { socket, other } = await open(t, way)
    const got: Buffer[] = []
    socket.on('readable', () => drain(socket, got))
    const sent = Buffer.from(
      Array.from({ length: 3_000_000 }, (_, index) => index * 7 + (index >> 8)),
    )
    other.write(sent)
    const length = () => got.reduce((sum, { byteLength }) => sum + byteLength, 0)
    await until('all is here', () => length() === sent.byteLength)
    t.ok(Buffer.concat(got).equals(sent), 'no chunk has changed since it was read')
    t.ok(got.length > 1)
  })

  t.test(`${way}: what nobody reads stays with the system`, async t => {
    const { socket, other } = await open(t, way)
    const got: Buffer[] = []
    let isPaused = true
    socket.on('readable', () => {
      if (!isPaused) drain(socket, got)
    })
    const sent = Buffer.alloc(60_000_000, 'x')
    other.write(sent)
    let before = -1
    await until('nothing moves any more', () => {
      const now = socket.bytesRead
      const stands = now > 0 && now === before
      before = now
      return stands
    })
    t.ok(socket.bytesRead < 2_000_000, `${socket.bytesRead} bytes were read`)
    isPaused = false
    drain(socket, got)
    const length = () => got.reduce((sum, { byteLength }) => sum + byteLength, 0)
    await until('all is here', () => length() === sent.byteLength)
  })

  t.test(
    `${way}: what was seen ahead is read later, in order, or when it is asked for`,
    async t => {
      const seen: string[] = []
      const got: Buffer[] = []
      const gotAtSight: number[] = []
      let readOn = (): void => {}
      let isAsked = false
      const { socket, other } = await open(t, way, (bytes, on) => {
        const text = String(bytes)
        seen.push(text)
        readOn = on
        // Before anything else that waits for the next turn.
        queueMicrotask(() => {
          gotAtSight.push(got.length)
          if (isAsked) readOn()
          gotAtSight.push(got.length)
        })
        return text.startsWith('whole')
      })
      socket.on('readable', () => drain(socket, got))
      const text = () => Buffer.concat(got).toString()
      other.write('whole 1')
      await until('it is read', () => text() === 'whole 1')
      t.strictSame(gotAtSight.splice(0), [0, 0], 'not in the turn in which it came')
      isAsked = true
      other.write('whole 2')
      await until('it is read', () => text() === 'whole 1whole 2')
      t.strictSame(gotAtSight.splice(0), [1, 2], 'but where it is asked for')
      other.write('part')
      await until('it is read', () => text() === 'whole 1whole 2part')
      t.strictSame(gotAtSight.splice(0), [3, 3], 'at once where there is no time')
      t.strictSame(seen, ['whole 1', 'whole 2', 'part'])
      readOn()
      t.equal(got.length, 3, 'nothing twice')
      other.end('whole 3')
      await once(socket, 'end')
      await until('it is read', () => text() === 'whole 1whole 2partwhole 3')
    },
  )

  t.test(`${way}: what is corked goes as one, and what is not at once`, async t => {
    const { socket, other } = await open(t, way)
    const seen: string[] = []
    other.on('data', chunk => seen.push(String(chunk)))
    socket.cork()
    t.equal(socket.write('head é ', 'latin1'), true)
    socket.cork()
    socket.write(Buffer.from('body'))
    await new Promise(resolve => setTimeout(resolve, 20))
    t.strictSame(seen, [], 'nothing before it is uncorked')
    socket.uncork()
    await until('it is there', () => seen.length > 0)
    t.strictSame(seen, [Buffer.from('head é body', 'latin1').toString()])
    socket.uncork()
    socket.write('alone')
    await until('it is there', () => seen.length > 1)
    t.strictSame(seen.slice(1), ['alone'])
  })

  t.test(`${way}: the end and a reset are told`, async t => {
    const ended = await open(t, way)
    const got: Buffer[] = []
    ended.socket.on('readable', () => drain(ended.socket, got))
    ended.other.end('last')
    await once(ended.socket, 'end')
    t.equal(Buffer.concat(got).toString(), 'last')
    await once(ended.socket, 'close')

    const reset = await open(t, way)
    reset.socket.on('readable', () => drain(reset.socket, []))
    const failed = once(reset.socket, 'error')
    // Over TLS only who is below it could reset the connection.
    if (way === 'tcp') reset.other.resetAndDestroy()
    else reset.socket.destroy(new Error('reset'))
    t.type((await failed)[0], Error)
    if (!reset.socket.closed) await once(reset.socket, 'close')
    t.equal(reset.socket.read(), null)
  })
}
