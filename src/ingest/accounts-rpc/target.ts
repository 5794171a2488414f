import type { RpcTarget } from './client.js'
import type { Options } from './options.js'
import { readAuthority } from './read-authority.js'

/** An upstream RPC to read accounts from, as the configuration has it. */
export type AccountsRpcConfig = Options & {
  readonly endpoint: string
  readonly credential?: string | undefined
  readonly caFile?: string | undefined
}

/** Where accounts are read from. Reads the certificate file; throws where it cannot. */
export const toRpcTarget = ({ caFile, credential, endpoint }: AccountsRpcConfig): RpcTarget => ({
  endpoint,
  ...(credential === undefined ? {} : { credential }),
  ...(caFile === undefined
    ? {}
    : { caCertificatePem: readAuthority(caFile, 'networks.accountsRpc.caFile') }),
})
