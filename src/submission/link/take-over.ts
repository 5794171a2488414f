import { connect, type Socket } from 'node:net'
import type { SendResult } from '../single-flight.js'
import { FrameReader, toFrame } from './frames.js'
import type { RememberedTransaction } from '../lander/sent-transactions.js'
import { MESSAGE_BYTES, type ToPredecessor, type ToSuccessor } from './messages.js'

/** Bytes of the keys of all bundles that may be in flight, and of the longest outcome. */
const BYTES_MAX = 1024 ** 2 + MESSAGE_BYTES

/** A sender that begins nothing any more. */
export type Predecessor = {
  /** The bundles that it has in flight, and how each ends: `unknown` where it ends before. */
  readonly inFlight: ReadonlyMap<string, Promise<SendResult>>
  /** The transactions that it has sent before. */
  readonly remembered: readonly RememberedTransaction[]
  /** Resolves when it has ended. */
  readonly ended: Promise<void>
}

/**
 * Has the sender that listens at a path begin nothing from now on. Undefined where none does. If
 * this process ends before the other one is told to, that one goes on.
 */
export const takeOver = async (
  path: string,
  onFault: (fault: unknown) => void,
): Promise<Predecessor | undefined> => {
  const socket = connect(path)
  const isConnected = await new Promise<boolean>(resolve => {
    socket.once('connect', () => resolve(true))
    // No file, or one of a sender that was killed.
    socket.once('error', () => resolve(false))
  })
  return isConnected ? receive(socket, onFault) : undefined
}

const receive = (socket: Socket, onFault: (fault: unknown) => void): Promise<Predecessor> => {
  const remembered: RememberedTransaction[] = []
  const settlers = new Map<string, (result: SendResult) => void>()
  const ended = new Promise<void>(resolve => {
    socket.once('close', () => {
      for (const settle of settlers.values()) settle('unknown')
      resolve()
    })
  })
  // `close` follows.
  socket.on('error', () => {})
  return new Promise(resolve => {
    const toMap = (keys: readonly string[]) =>
      new Map(
        keys.map(key => [
          key,
          new Promise<SendResult>(settle => {
            settlers.set(key, settle)
          }),
        ]),
      )
    // It was killed before it answered.
    void ended.then(() => resolve({ inFlight: new Map(), remembered, ended }))
    const reader = new FrameReader(BYTES_MAX, frame => {
      const message = frame as ToSuccessor
      if (message.kind === 'inFlight') resolve({ inFlight: toMap(message.keys), remembered, ended })
      else if (message.kind === 'remembered') remembered.push(...message.sent)
      else if (message.kind === 'ended') settlers.get(message.key)?.(message.result)
    })
    socket.on('data', chunk => {
      try {
        reader.push(chunk)
      } catch (fault) {
        onFault(fault)
        socket.destroy()
      }
    })
    socket.write(toFrame({ kind: 'takeOver' } satisfies ToPredecessor))
  })
}
