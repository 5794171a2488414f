// A Yellowstone server whose slots are encoded before the first one is sent: one when it is
// subscribed to, and one each slot time from the command on.
import { writeFileSync } from 'node:fs'
import { openGrpcServer, type GrpcStream } from '../../src/sandbox/geyser/grpc-server.js'
import { yellowstone } from '../../test/fixtures/sandbox/yellowstone.js'
import { machineMs } from '../clock.js'
import { onStart } from '../child.js'
import { encodeSlot, FIRST_SLOT, SLOT_MS } from '../data/slot-messages.js'

export type SlotFeed = {
  /** How many it has; then it is silent. */
  readonly slotCount: number
  /** Written at the end: each slot, and when its first byte was given to the socket. */
  readonly file: string
}
/** Sent to it: the slots begin. */
export type Begin = { readonly begin: true }

const { SubscribeRequest } = yellowstone
const REQUEST_BYTES_MAX = 1024 * 1024

onStart<SlotFeed, { readonly port: number }>(async ({ slotCount, file }) => {
  const slots = Array.from({ length: slotCount }, (_, index) => encodeSlot(FIRST_SLOT + index))
  const sent: number[] = []
  const streams = new Set<GrpcStream>()
  const send = (): void => {
    const slot = FIRST_SLOT + sent.length / 2
    const bytes = slots[slot - FIRST_SLOT]
    if (bytes === undefined) return
    sent.push(slot, machineMs())
    for (const stream of streams) stream.write(bytes)
    if (sent.length / 2 === slotCount) writeFileSync(file, new Float64Array(sent))
  }
  const server = await openGrpcServer(
    {
      unary: {},
      streaming: {
        '/geyser.Geyser/Subscribe': stream => ({
          message: bytes => {
            if (SubscribeRequest.decode(bytes).ping !== undefined || streams.has(stream)) return
            streams.add(stream)
            if (sent.length === 0) send()
          },
          drained: () => {},
          closed: () => void streams.delete(stream),
        }),
      },
    },
    { host: '127.0.0.1', port: 0, requestBytesMax: REQUEST_BYTES_MAX },
  )
  process.on('message', message => {
    if (!('begin' in Object(message))) return
    const beganMs = machineMs()
    const next = (count: number): void => {
      send()
      setTimeout(() => next(count + 1), beganMs + count * SLOT_MS - machineMs())
    }
    next(1)
  })
  return { port: server.port }
})
