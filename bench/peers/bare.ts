// The least that any server on uWebSockets.js does: read the body or the message, send bytes that
// are there already.
import uws from 'uWebSockets.js'
import { onStart } from '../child.js'

/** Parameters of the bare peer. */
export type Start = { readonly reply: string }

/** Where it answers. */
export type Listening = { readonly port: number }

onStart<Start, Listening>(({ reply }) => {
  const bytes = Buffer.from(reply)
  return new Promise((resolve, reject) => {
    uws
      .App()
      .post('/*', response => {
        let body: Buffer | undefined
        response.onAborted(() => {})
        response.onData((chunk, isLast) => {
          // uWebSockets.js takes the chunk back on return, so all but a single one is copied.
          const part = Buffer.from(chunk)
          if (!isLast) body = Buffer.concat([body ?? Buffer.alloc(0), part])
          else {
            const whole = body === undefined ? part : Buffer.concat([body, part])
            if (whole.length === 0) response.writeStatus('400 Bad Request').end()
            else response.writeHeader('content-type', 'application/json').end(bytes)
          }
        })
      })
      .ws('/*', { message: socket => void socket.send(bytes) })
      .listen('127.0.0.1', 0, socket => {
        if (socket === false) reject(new Error('cannot listen'))
        // The typing of a listening socket lacks what every socket has.
        else resolve({ port: uws.us_socket_local_port(socket) })
      })
  })
})
