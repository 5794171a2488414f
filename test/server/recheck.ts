import t from 'tap'
import type { BodySource } from '../../src/shared/http.js'
import {
  connect,
  eventually,
  openTestServer,
  post,
  replyCount,
  splitReplies,
  statusOf,
  text,
} from '../fixtures/server/server.js'

/** A route that is closed by `close`, with counts of handled and released requests. */
const createDoor = () => {
  const door = { isOpen: true, handledCount: 0, doneCount: 0 }
  const route = {
    open: () => 'context',
    recheck: (context: unknown) =>
      context === 'context' && !door.isOpen ? text('refused', 401) : undefined,
    done: () => void door.doneCount++,
  }
  return { door, route }
}

t.test('a body that arrives after the access was revoked is not handled', async t => {
  const { door, route } = createDoor()
  const handle = () => (door.handledCount++, text('ok'))
  const { port } = await openTestServer(t, [{ ...route, handle }])
  const request = post('/t', 'body')
  for (const [isOpen, status] of [
    [true, '200'],
    [false, '401'],
  ] as const) {
    door.isOpen = true
    const { socket, until } = await connect(port)
    socket.write(request.slice(0, -1))
    await new Promise(resolve => setTimeout(resolve, 20))
    door.isOpen = isOpen
    socket.write(request.slice(-1))
    t.equal(statusOf(await until(now => replyCount(now) > 0)), status)
    socket.destroy()
  }
  t.equal(door.handledCount, 1)
  await eventually(() => door.doneCount === 2)
})

t.test('an awaited reply is not sent after the access was revoked', async t => {
  const { door, route } = createDoor()
  let answer = (): void => {}
  let closedCount = 0
  const source = (): BodySource => ({ byteLength: 1, read: () => 0, close: () => closedCount++ })
  const { port } = await openTestServer(t, [
    {
      ...route,
      handle: () =>
        new Promise(resolve => {
          answer = () => resolve(text(door.isOpen ? 'ok' : source()))
        }),
    },
  ])
  for (const [isOpen, status] of [
    [true, '200'],
    [false, '401'],
  ] as const) {
    door.isOpen = true
    const { socket, until } = await connect(port)
    const handled = answer
    socket.write(post('/t', 'body'))
    await eventually(() => answer !== handled)
    door.isOpen = isOpen
    answer()
    t.equal(statusOf(await until(now => replyCount(now) > 0)), status)
    socket.destroy()
  }
  t.equal(closedCount, 1, 'the resources of the reply were released')
  await eventually(() => door.doneCount === 2)
})

t.test('the rest of a long reply is not sent after the access was revoked', async t => {
  const { door, route } = createDoor()
  const totalBytes = 64 * 1024 ** 2
  let closedCount = 0
  const { port, lines } = await openTestServer(t, [
    {
      ...route,
      handle: () =>
        text({
          byteLength: totalBytes,
          read: into => into.fill(97).byteLength,
          close: () => void closedCount++,
        }),
    },
  ])
  const { socket, received, until, closed } = await connect(port)
  socket.write(post('/t', ''))
  await until(now => now.length > 100_000)
  socket.pause()
  door.isOpen = false
  socket.resume()
  await closed
  t.ok(received().length < totalBytes, `${received().length} bytes`)
  t.strictSame(splitReplies(received()), [], 'and the client sees that it is not whole')
  t.equal(closedCount, 1)
  t.match(lines.join(''), /a reply was not completed/)
  await eventually(() => door.doneCount === 1)
})
