import { createServer } from 'node:net'

/** Where something listens. */
export type PortAddress = {
  readonly host: string
  readonly port: number
  /** The option that an operator changes where it cannot be listened on. */
  readonly option?: string | undefined
}

/**
 * Rejects with one line where the port is in use. uWebSockets shares ports (SO_REUSEPORT), so a
 * second service on the same port would start and silently take half of the connections.
 */
export const probePort = (address: PortAddress): Promise<void> =>
  new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', (error: NodeJS.ErrnoException) =>
      reject(new Error(describePort(address, error.code))),
    )
    const { host, port } = address
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve()))
  })

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is in use',
  EADDRNOTAVAIL: 'this machine has no such address',
  EACCES: 'not permitted to use this port',
}

const UNKNOWN = 'the port is in use, or this machine has no such address'

/** One line for an operator: why the port cannot be listened on. */
export const describePort = (
  { host, port, option }: PortAddress,
  code: string | undefined,
): string => {
  const reason = code === undefined ? UNKNOWN : (REASONS[code] ?? code)
  const where = `${host.includes(':') ? `[${host}]` : host}:${port}`
  return `Cannot listen on ${where}${option === undefined ? '' : ` (${option})`}: ${reason}`
}
