import { createServer } from 'node:net'

/**
 * Rejects with one line where the port is in use. uWebSockets.js shares ports (SO_REUSEPORT), so a
 * second service on the same port would start and silently take half of the connections.
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

/** One line for an operator: why the port cannot be listened on. */
export const describePort = (host: string, port: number, code: string | undefined): string => {
  const reason = code === undefined ? UNKNOWN : (REASONS[code] ?? code)
  return `Cannot listen on ${host.includes(':') ? `[${host}]` : host}:${port}: ${reason}`
}
