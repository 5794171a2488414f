import { endOfPrefix, EtcdError, type Etcd } from './etcd/client.js'
import type { Keys } from './keys.js'

// Kinds of permission in the protocol.
const [READ, WRITE, READ_WRITE] = [0, 1, 2]

/** The name of the operator's certificate; etcd gives this user every permission. */
export const OPERATOR = 'root'

/** What the answers of etcd say where something exists already. */
const EXISTS = /already (exists|enabled|granted)|already been granted|authentication is enabled/

const ensure = async (etcd: Etcd, method: string, request: object): Promise<void> => {
  try {
    await etcd.changeAuth(method, request)
  } catch (error) {
    if (!(error instanceof EtcdError && EXISTS.test(error.message))) throw error
  }
}

const permit = (etcd: Etcd, role: string, permType: number, key: string, range_end = '') =>
  ensure(etcd, 'RoleGrantPermission', { name: role, perm: { permType, key, range_end } })

const addUser = async (etcd: Etcd, name: string, role: string): Promise<void> => {
  // Without a password: only a certificate with this common name is this user.
  await ensure(etcd, 'UserAdd', { name, options: { no_password: true } })
  await ensure(etcd, 'UserGrantRole', { user: name, role })
}

const controlRole = (cluster: string): string => `${cluster}-control`
const machineRole = (cluster: string, machine: string): string => `${cluster}-machine-${machine}`

/** Has etcd authenticate everyone, and makes the role that changes accesses and `epoch`. */
export const enableRoles = async (etcd: Etcd, keys: Keys, cluster: string): Promise<void> => {
  const role = controlRole(cluster)
  await ensure(etcd, 'RoleAdd', { name: role })
  await permit(etcd, role, READ_WRITE, keys.accesses, endOfPrefix(keys.accesses))
  await permit(etcd, role, READ_WRITE, keys.epoch)
  await ensure(etcd, 'RoleAdd', { name: OPERATOR })
  await addUser(etcd, OPERATOR, OPERATOR)
  await ensure(etcd, 'AuthEnable', {})
}

type MachineRights = {
  readonly cluster: string
  readonly machine: string
  /** It may change accesses, and `epoch`. */
  readonly isControl: boolean
}

/** A machine reads the cluster and writes what is its own. */
export const addMachineRole = async (
  etcd: Etcd,
  keys: Keys,
  { cluster, machine, isControl }: MachineRights,
): Promise<void> => {
  const role = machineRole(cluster, machine)
  await ensure(etcd, 'RoleAdd', { name: role })
  await permit(etcd, role, READ, keys.prefix, endOfPrefix(keys.prefix))
  for (const key of [keys.beat(machine), keys.use(machine)]) await permit(etcd, role, WRITE, key)
  await addUser(etcd, machine, role)
  if (isControl) await setControl(etcd, { cluster, machine, isControl })
}

/** Whether a machine may change accesses, from the next change on. */
export const setControl = async (
  etcd: Etcd,
  { cluster, machine, isControl }: MachineRights,
): Promise<void> => {
  const role = controlRole(cluster)
  if (isControl) return ensure(etcd, 'UserGrantRole', { user: machine, role })
  await etcd.changeAuth('UserRevokeRole', { name: machine, role }).catch((error: unknown) => {
    if (!(error instanceof EtcdError && /not granted/.test(error.message))) throw error
  })
}

export const removeMachineRole = async (
  etcd: Etcd,
  cluster: string,
  machine: string,
): Promise<void> => {
  for (const [method, request] of [
    ['UserDelete', { name: machine }],
    ['RoleDelete', { role: machineRole(cluster, machine) }],
  ] as const)
    await etcd.changeAuth(method, request).catch((error: unknown) => {
      // Removed by an earlier attempt that did not come to its end.
      if (!(error instanceof EtcdError && /not found/.test(error.message))) throw error
    })
}
