// Handshakes one after the other, each on a connection of its own.
import { once } from 'node:events'
import { connect, type ConnectionOptions } from 'node:tls'
import { onStart } from '../child.js'

export type Handshakes = {
  readonly port: number
  /** Names the certificate. */
  readonly host: string
  readonly count: number
  /** Each resumes the session of one before them. */
  readonly isResumed: boolean
}

/** Milliseconds from the first packet of a connection to the end of its handshake. */
export type HandshakesResult = { readonly p50: number }

onStart<Handshakes, HandshakesResult>(async ({ port, host, count, isResumed }) => {
  const options: ConnectionOptions = {
    port,
    host: '127.0.0.1',
    servername: host,
    rejectUnauthorized: false,
  }
  const first = connect(options)
  const [session] = (await once(first, 'session')) as [Buffer]
  const name = first.getPeerCertificate().subject.CN
  if (name !== host) throw new Error(`the certificate is of ${name}`)
  first.destroy()
  const ms: number[] = []
  for (let nth = 0; nth < count; nth++) {
    const startedAt = performance.now()
    const socket = connect({ ...options, ...(isResumed && { session }) })
    await once(socket, 'secureConnect')
    ms.push(performance.now() - startedAt)
    if (socket.isSessionReused() !== isResumed) throw new Error('another kind of handshake')
    socket.destroy()
  }
  return { p50: ms.toSorted((one, other) => one - other)[Math.floor(count / 2)] ?? NaN }
})
