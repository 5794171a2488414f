import { replaceFile } from '../shared/files/atomic-file.js'
import type { Samples } from './chain/sample-accounts.js'
import type { SandboxMachine } from './machines/machines.js'
import { SANDBOX_SEED } from './solana/keypair.js'
import type { IdentityUser } from './identity/users.js'
import { deriveTips } from './upstreams/tips.js'

/** What the process of the sandbox reports to the command. */
export type SandboxDetail = {
  readonly geyserUrl: string
  readonly upstreamRpcUrl: string
  readonly landerUrl: string
  readonly bundleEngineUrl: string
  readonly issuer: string
  readonly samples: Samples
}

/** URLs of one location. */
type LocationUrls = {
  readonly id: string
  readonly rpcUrl: string
  readonly wsUrl: string
  /** Base of the lander and relay routes. */
  readonly submitUrl: string
  /** Where Yellowstone gRPC is served, with the token as `x-token`. */
  readonly grpcUrl?: string
}

/** URLs of a location whose listener has this port. */
export const locationUrls = (
  id: string,
  { port, grpcPort }: { readonly port: number; readonly grpcPort?: number | undefined },
  token: string,
): LocationUrls => ({
  id,
  rpcUrl: `http://127.0.0.1:${port}/${token}`,
  wsUrl: `ws://127.0.0.1:${port}/${token}`,
  submitUrl: `http://127.0.0.1:${port}/${token}`,
  ...(grpcPort !== undefined && { grpcUrl: `http://127.0.0.1:${grpcPort}` }),
})

/** One of several machines. */
type MachineUrls = LocationUrls & {
  readonly location: string
  readonly metricsUrl: string
  readonly dataDir: string
}

export const machineUrls = (machine: SandboxMachine, token: string): MachineUrls => ({
  ...locationUrls(machine.id, { port: machine.port }, token),
  location: machine.location,
  metricsUrl: `http://127.0.0.1:${machine.metricsPort}/metrics`,
  dataDir: machine.dataDir,
})

type Parts = {
  readonly locations: readonly LocationUrls[]
  /** Empty if there is one machine only. */
  readonly machines: readonly MachineUrls[]
  readonly dashboardUrl: string
  readonly metricsUrl: string
  readonly adminToken: string
  readonly users: readonly IdentityUser[]
  readonly detail: SandboxDetail
}

/** The content of sandbox.json. */
export const describeSandbox = ({ detail, users, ...urls }: Parts) => {
  const { issuer, samples, ...upstreamUrls } = detail
  const { payerSecretKey, wallet, mint, mint2022, tokenAccount, program } = samples
  return {
    ...urls,
    identity: { issuer, users: users.map(({ email, password }) => ({ email, password })) },
    ...upstreamUrls,
    tips: deriveTips(SANDBOX_SEED),
    samples: { payerSecretKey, wallet, mint, mint2022, tokenAccount, program },
  }
}
export type SandboxDescription = ReturnType<typeof describeSandbox>

/** Writes sandbox.json, readable by its owner only: it contains tokens and a key. */
export const writeDescription = (path: string, description: SandboxDescription): void =>
  replaceFile(path, `${JSON.stringify(description, null, 2)}\n`)

/** The text that the command prints when the sandbox is ready. */
export const formatWelcome = (description: SandboxDescription): string => {
  const { locations, machines, dashboardUrl, metricsUrl, samples } = description
  const url = locations[0]?.rpcUrl ?? ''
  const body = `{"jsonrpc":"2.0","id":1,"method":"getAccountInfo","params":["${samples.tokenAccount}",{"encoding":"jsonParsed"}]}`
  return [
    machines.length === 0
      ? 'Slotline is running: two locations on a local dev chain.'
      : `Slotline is running: ${machines.length} machines at two locations on a local dev chain.`,
    ...(machines.length === 0 ? locations : machines).map(({ id, rpcUrl }) => `  ${id}  ${rpcUrl}`),
    `  dashboard  ${dashboardUrl}  (users and passwords: sandbox.json)`,
    `  metrics  ${metricsUrl}`,
    ...(locations[0]?.grpcUrl === undefined
      ? []
      : [`  grpc  ${locations[0].grpcUrl}  (x-token: the token of ${locations[0].id})`]),
    'Read an account:',
    `  curl -s ${url} -H 'content-type: application/json' -d '${body}'`,
    'Ctrl-C stops it. sandbox.json in the data directory has all URLs, tokens and keys.',
    '',
  ].join('\n')
}
