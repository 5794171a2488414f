import { checkServers, readIdentity, type CertificateFiles } from './identity.js'
import { Etcd } from './etcd/client.js'

export type ConnectionOptions = CertificateFiles & {
  readonly store: readonly string[]
  readonly callMs: number
}

/**
 * A client of etcd under the name of a certificate; throws where a certificate on either side is
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
