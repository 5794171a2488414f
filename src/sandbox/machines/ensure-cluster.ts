import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Administration } from '../../cluster/administration.js'
import { connectEtcd } from '../../cluster/connection.js'
import { EtcdError, type Etcd } from '../../cluster/etcd/client.js'
import { keysOf } from '../../cluster/keys.js'
import { defaults } from '../../cluster/options.js'
import { OPERATOR } from '../../cluster/roles.js'
import type { SandboxMachine } from './machines.js'

/** The name of the sandbox's cluster. */
export const SANDBOX_CLUSTER = 'sandbox'

const START_MS = 30_000
const RETRY_MS = 200

const untilServing = async (etcd: Etcd): Promise<void> => {
  for (const endMs = performance.now() + START_MS; ;) {
    try {
      await etcd.get('/')
      return
    } catch (error) {
      if (!(error instanceof EtcdError) || performance.now() > endMs) throw error
      etcd.useNext()
    }
    await sleep(RETRY_MS)
  }
}

/** Waits for etcd, and makes the cluster with its machines where it does not exist yet. */
export const ensureCluster = async (
  dir: string,
  endpoints: readonly string[],
  machines: readonly SandboxMachine[],
): Promise<void> => {
  const files = {
    caFile: join(dir, 'ca.pem'),
    certFile: join(dir, `${OPERATOR}.pem`),
    keyFile: join(dir, `${OPERATOR}.key`),
  }
  const etcd = await connectEtcd({ ...files, store: endpoints, callMs: defaults.callMs }, OPERATOR)
  try {
    await untilServing(etcd)
    const administration = new Administration(etcd, SANDBOX_CLUSTER)
    const keys = keysOf(SANDBOX_CLUSTER)
    if ((await etcd.get(keys.epoch)).found === undefined)
      await administration.init(randomBytes, undefined)
    for (const [index, { id, location }] of machines.entries())
      if ((await etcd.get(keys.machine(id))).found === undefined)
        await administration.add(id, location, index === 0)
  } finally {
    etcd.close()
  }
}
