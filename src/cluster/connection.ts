import { checkServers, readIdentity, type CertificateFiles } from './identity.js'
import { Etcd } from './etcd/client.js'

export type ConnectionOptions = CertificateFiles & {
  readonly store: readonly string[]
  readonly callMs: number
}

/**
 * Why no member of etcd can be called, where that is a certificate on either side; what is wrong
 * and what to do.
 */
export const explainConnection = async (
  { store, callMs, ...files }: ConnectionOptions,
  name: string,
): Promise<string | undefined> => {
  try {
    await checkServers(store, readIdentity(files, name, Date.now()), callMs)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/**
 * A client of etcd under the name of a certificate; throws if a certificate on either side is
 * wrong.
 */
export const connectEtcd = async (
  { store, callMs, ...files }: ConnectionOptions,
  name: string,
): Promise<Etcd> => {
  const identity = readIdentity(files, name, Date.now())
  await checkServers(store, identity, callMs)
  return new Etcd({ endpoints: store, identity, callMs })
}
