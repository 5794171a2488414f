import { join } from 'node:path'
import { portsFrom } from '../ports.js'

/** Of etcd: the fewest of which one may be lost. */
const MEMBERS = 3
/** Location and its second listener, dashboard, metrics and the peer API. */
const PORTS_OF_A_MACHINE = 5

/** Flags that decide where machines are. */
type Flags = {
  readonly dataDir: string
  readonly port: number
  readonly machines?: number | undefined
}

/** A machine of the sandbox, and where it listens. */
export type SandboxMachine = {
  readonly id: string
  readonly location: 'fra' | 'nyc'
  readonly dataDir: string
  /** First of the two ports of its location. */
  readonly port: number
  readonly dashboardPort: number
  readonly metricsPort: number
  readonly peerPort: number
}

/** Several machines of one sandbox, and the etcd that they share. */
export type SandboxCluster = {
  /** Certificates, and the data of etcd. */
  readonly dir: string
  readonly memberCount: number
  readonly memberPort: number
  readonly machines: readonly SandboxMachine[]
}

/**
 * The first machine of each location has the location's own ports, and the first of all those of
 * the dashboard and the metrics; the others have ports of their own behind those of the sandbox.
 * Every third machine is in New York.
 */
export const machinesOf = ({ dataDir, port, machines: count = 1 }: Flags): SandboxCluster => {
  const ports = portsFrom(port)
  const memberPort = ports.identity + 1
  const firstPort = memberPort + 2 * MEMBERS
  const machines = Array.from({ length: count }, (_, index): SandboxMachine => {
    const isFar = index % 3 === 2
    const location = isFar ? 'nyc' : 'fra'
    const own = firstPort + index * PORTS_OF_A_MACHINE
    const number = isFar ? (index + 1) / 3 : index + 1 - Math.floor((index + 1) / 3)
    const id = `${location}-${number}`
    return {
      id,
      location,
      dataDir: join(dataDir, id),
      port: number === 1 ? ports[location] : own,
      dashboardPort: index === 0 ? ports.dashboard : own + 2,
      metricsPort: index === 0 ? ports.metrics : own + 3,
      peerPort: own + 4,
    }
  })
  return { dir: join(dataDir, 'cluster'), memberCount: MEMBERS, memberPort, machines }
}
