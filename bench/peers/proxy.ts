// The least that a proxy in JavaScript does for a submission: it reads the body, sends it to the
// upstream over kept connections, and replies with the answer. It checks, counts and records
// nothing.
import { Pool } from 'undici'
import uws from 'uWebSockets.js'
import { onStart } from '../child.js'

/** The upstream, which has the paths that the proxy is asked for. */
export type Start = { readonly upstreamPort: number }

/** Where it answers. */
export type Listening = { readonly port: number }

/** More than a load generator has. */
const CONNECTIONS = 64

onStart<Start, Listening>(({ upstreamPort }) => {
  const pool = new Pool(`http://127.0.0.1:${upstreamPort}`, { connections: CONNECTIONS })
  const forward = async (
    response: uws.HttpResponse,
    path: string,
    contentType: string,
    body: Buffer,
  ): Promise<void> => {
    const headers = { 'content-type': contentType }
    const answer = await pool.request({ method: 'POST', path, headers, body })
    const reply = Buffer.from(await answer.body.arrayBuffer())
    response.cork(() => response.writeHeader('content-type', 'application/json').end(reply))
  }
  return new Promise((resolve, reject) => {
    uws
      .App()
      .post('/*', (response, request) => {
        const [path, contentType] = [request.getUrl(), request.getHeader('content-type')]
        const parts: Buffer[] = []
        let isAborted = false
        response.onAborted(() => (isAborted = true))
        response.onData((chunk, isLast) => {
          // uWebSockets.js takes the chunk back on return.
          parts.push(Buffer.from(chunk.slice(0)))
          if (!isLast) return
          forward(response, path, contentType, Buffer.concat(parts)).catch(() => {
            if (!isAborted) response.close()
          })
        })
      })
      .listen('127.0.0.1', 0, socket => {
        if (socket === false) reject(new Error('cannot listen'))
        // The typing of a listening socket lacks what every socket has.
        else resolve({ port: uws.us_socket_local_port(socket) })
      })
  })
})
