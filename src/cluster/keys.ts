/** The keys of one cluster in etcd. */
export type Keys = {
  /** What all keys of the cluster begin with. */
  readonly prefix: string
  /** Random id of the cluster, or `broken`; written by machines that may change accesses. */
  readonly epoch: string
  readonly accesses: string
  readonly machines: string
  readonly beats: string
  readonly uses: string
  /** First key after those of beats, `epoch` and machines, which come one after the other. */
  readonly endOfMachines: string
  access(accessId: string): string
  machine(machineId: string): string
  beat(machineId: string): string
  use(machineId: string): string
}

export const keysOf = (cluster: string): Keys => {
  const prefix = `/slotline/${cluster}/`
  return {
    prefix,
    epoch: `${prefix}epoch`,
    accesses: `${prefix}access/`,
    machines: `${prefix}machine/`,
    beats: `${prefix}beat/`,
    uses: `${prefix}use/`,
    endOfMachines: `${prefix}machine0`,
    access: accessId => `${prefix}access/${accessId}`,
    machine: machineId => `${prefix}machine/${machineId}`,
    beat: machineId => `${prefix}beat/${machineId}`,
    use: machineId => `${prefix}use/${machineId}`,
  }
}

/** The value of `epoch` after which no machine can prove anything. */
export const BROKEN = 'broken'
