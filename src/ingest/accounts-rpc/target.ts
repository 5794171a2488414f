import type { Config } from '../../config/config.js'
import type { RpcTarget } from './client.js'
import { readAuthority } from './read-authority.js'

type AccountsRpc = NonNullable<Config['networks'][number]['accountsRpc']>

/** Where accounts are read from. Reads the certificate file, and throws where it cannot. */
export const toRpcTarget = ({ caFile, credential, endpoint }: AccountsRpc): RpcTarget => ({
  endpoint,
  ...(credential === undefined ? {} : { credential }),
  ...(caFile === undefined
    ? {}
    : { caCertificatePem: readAuthority(caFile, 'networks.accountsRpc.caFile') }),
})
