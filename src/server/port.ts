import { createServer } from 'node:net'

/**
 * Rejects where something already listens there, with one line that names it. uWebSockets.js shares
 * ports (SO_REUSEPORT), so that a second service on the same port would start and silently take
 * half of the clients.
 */
export const probePort = (host: string, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', (error: NodeJS.ErrnoException) =>
      reject(new Error(describePort(host, port, error.code))),
    )
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve()))
  })

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is in use',
  EADDRNOTAVAIL: 'this machine has no such address',
  EACCES: 'not permitted to use this port',
}

const UNKNOWN = 'the port is in use, or this machine has no such address'

/** One line for an operator: why nothing can listen there. */
export const describePort = (host: string, port: number, code: string | undefined): string => {
  const reason = code === undefined ? UNKNOWN : (REASONS[code] ?? code)
  return `Cannot listen on ${host.includes(':') ? `[${host}]` : host}:${port}: ${reason}`
}
