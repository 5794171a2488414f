import { randomBytes } from 'node:crypto'
import { renameSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { readAdminToken } from '../access/tokens/admin-token.js'
import { createIdentityUsers } from '../sandbox/identity/users.js'
import { SANDBOX_SEED } from '../sandbox/solana/keypair.js'
import { deriveTips } from '../sandbox/upstreams/tips.js'
import { openLog } from '../shared/log.js'
import { publicUrlOf } from '../control/public-url.js'
import { sandboxAccesses } from '../sandbox/accesses.js'
import {
  layoutOf,
  sandboxConfig,
  SANDBOX_NETWORK,
  upstreamListeners,
  type SandboxFlags,
} from '../sandbox/config.js'
import { drainOnSignal, exitOnSignal } from './serve.js'
import { startService } from '../processes/supervisor.js'

/** URLs of one location of the sandbox. */
type Place = {
  readonly id: string
  readonly rpcUrl: string
  readonly wsUrl: string
  /** Base of the lander and relay routes. */
  readonly submitUrl: string
}

const place = (id: string, port: number, token: string): Place => ({
  id,
  rpcUrl: `http://127.0.0.1:${port}/${token}`,
  wsUrl: `ws://127.0.0.1:${port}/${token}`,
  submitUrl: `http://127.0.0.1:${port}/${token}`,
})

/** What sandbox.json tells of the dev chain's accounts. */
const toSamples = (given: unknown) => {
  const all = new Map<string, unknown>(Object.entries(given ?? {}))
  const pick = (name: string): string => String(all.get(name))
  return {
    payerSecretKey: pick('payerSecretKey'),
    wallet: pick('wallet'),
    mint: pick('mint'),
    mint2022: pick('mint2022'),
    tokenAccount: pick('tokenAccount'),
    program: pick('program'),
  }
}

/** Written whole or not at all, and for its owner only: it holds tokens and a secret key. */
const writePrivate = (path: string, text: string): void => {
  writeFileSync(`${path}.new`, text, { mode: 0o600 })
  renameSync(`${path}.new`, path)
}

const formatWelcome = ({
  places,
  account,
  dashboardUrl,
  metricsUrl,
}: {
  readonly places: readonly Place[]
  readonly account: string
  readonly dashboardUrl: string
  readonly metricsUrl: string
}): string => {
  const url = places[0]?.rpcUrl ?? ''
  const body = `{"jsonrpc":"2.0","id":1,"method":"getAccountInfo","params":["${account}",{"encoding":"jsonParsed"}]}`
  return [
    'Slotline runs. Two locations on a dev chain of its own:',
    ...places.map(({ id, rpcUrl }) => `  ${id}  ${rpcUrl}`),
    `  dashboard  ${dashboardUrl}  (people and passwords: sandbox.json)`,
    `  metrics  ${metricsUrl}`,
    'Read an account:',
    `  curl -s ${url} -H 'content-type: application/json' -d '${body}'`,
    'Ctrl-C stops it. Everything it says stands in sandbox.json of the data directory, too.',
    '',
  ].join('\n')
}

/** `slotline sandbox`: a complete local deployment over the real wire protocols. */
export const runSandbox = async (flags: SandboxFlags): Promise<void> => {
  process.title = 'slotline supervisor'
  const config = sandboxConfig({ ...flags, dataDir: resolve(flags.dataDir) })
  const { log, flush } = openLog('supervisor', config.log)
  const users = createIdentityUsers(randomBytes)
  const started = exitOnSignal()
  const service = await startService(config, log, {
    name: 'sandbox',
    module: new URL('../sandbox/process.js', import.meta.url).href,
    options: { ...flags, users },
    listeners: upstreamListeners(flags),
  })
  drainOnSignal(service, flush)
  started()
  const tokens = await service.ensureAccesses(
    SANDBOX_NETWORK,
    sandboxAccesses(config.locations.map(({ id }) => id)),
  )
  await service.untilIndexed()
  const ports = layoutOf(flags.port)
  const places = [
    place('fra', ports.fra, tokens['fra'] ?? ''),
    place('nyc', ports.nyc, tokens['nyc'] ?? ''),
  ]
  const dashboardUrl = publicUrlOf(config).href
  const metricsUrl = `http://127.0.0.1:${ports.metrics}/metrics`
  const {
    geyserUrl,
    upstreamRpcUrl,
    landerUrl,
    bundleEngineUrl,
    issuer,
    samples: all,
  } = service.guestDetail()
  const samples = toSamples(all)
  const description = {
    locations: places,
    dashboardUrl,
    metricsUrl,
    adminToken: readAdminToken(config.access.adminTokenFile).reveal(),
    identity: { issuer, users: users.map(({ email, password }) => ({ email, password })) },
    geyserUrl,
    upstreamRpcUrl,
    landerUrl,
    bundleEngineUrl,
    tips: deriveTips(SANDBOX_SEED),
    samples,
  }
  writePrivate(join(config.dataDir, 'sandbox.json'), `${JSON.stringify(description, null, 2)}\n`)
  process.stdout.write(
    formatWelcome({ places, account: samples.tokenAccount, dashboardUrl, metricsUrl }),
  )
}
