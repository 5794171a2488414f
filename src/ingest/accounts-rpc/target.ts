import type { RpcTarget } from './client.js'
import type { Options } from './options.js'
import { readAuthority } from './read-authority.js'

/** An upstream RPC to read accounts from, as configured. */
export type AccountsRpcConfig = Options & {
  readonly endpoint: string
  readonly credential?: string | undefined
  readonly caFile?: string | undefined
}

/** Creates the target. Reads the certificate file; throws if it cannot. */
export const toRpcTarget = ({ caFile, credential, endpoint }: AccountsRpcConfig): RpcTarget => ({
  endpoint,
  ...(credential === undefined ? {} : { credential }),
  ...(caFile === undefined
    ? {}
    : { caCertificatePem: readAuthority(caFile, 'networks.accountsRpc.caFile') }),
})
