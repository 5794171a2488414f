// WebSockets that subscribe to accounts and read every notification. The process ends where one of
// them is closed.
import { onStart } from '../child.js'
import { toBackground } from './background.js'
import type { Target } from './connection.js'
import { openMany, toFrame, untilBytes } from './socket.js'

export type Subscribers = {
  readonly target: Target
  readonly sockets: number
  /** Base58; each socket subscribes to its share of them, one after the other. */
  readonly pubkeys: readonly string[]
}

/** Bytes of a reply to `accountSubscribe` at the least: the head of a frame, and the id. */
const REPLY_BYTES_MIN = 35
/** Sent unasked, in place of answers to pings: a server closes a client that sends nothing. */
const PONG = Buffer.from([0x8a, 0x80, 0, 0, 0, 0])
const PONG_MS = 30_000

onStart<Subscribers, null>(async ({ target, sockets, pubkeys }) => {
  toBackground()
  const clients = await openMany(target.port, sockets, target.path)
  for (const { socket } of clients) {
    socket.once('close', () => process.exit(1))
    setInterval(() => socket.write(PONG), PONG_MS)
  }
  const perSocket = Math.ceil(pubkeys.length / sockets)
  await Promise.all(
    clients.map(async (client, nth) => {
      for (const pubkey of pubkeys.slice(nth * perSocket, (nth + 1) * perSocket)) {
        const before = client.bytes
        const params = [pubkey, { encoding: 'base64' }]
        const call = { jsonrpc: '2.0', id: 1, method: 'accountSubscribe', params }
        client.socket.write(toFrame(JSON.stringify(call)))
        await untilBytes(client, before + REPLY_BYTES_MIN)
      }
    }),
  )
  return null
})
