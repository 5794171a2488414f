import type { Product } from '../../access/accesses/product.js'
import type {
  ControlConfig,
  ControlNetwork,
  LaneTips,
  RelayTips,
} from '../../config/child-config.js'
import type { Catalog, CatalogLocation, SubmissionRoute, Tip } from '../../dashboard/api/catalog.js'

type Location = ControlConfig['locations'][number]

const relayTips = (relay: RelayTips): readonly Tip[] => [
  {
    payee: 'service',
    lamportsMin: relay.serviceTipFloorLamports,
    accounts: relay.serviceTipAddresses,
  },
  {
    payee: 'engine',
    lamportsMin: relay.engineTipFloorLamports,
    accounts: relay.engineTipAddresses,
  },
]

const landerTips = (lander: NonNullable<ControlNetwork['lander']>): readonly Tip[] => [
  {
    payee: 'lander',
    lamportsMin: lander.tipFloorLamports,
    accounts: [...lander.tipAddresses, ...lander.serviceTipAddresses],
  },
]

/** A tip for each lane; lanes of one sender share theirs. */
const laneTips = (lanes: readonly LaneTips[]): readonly Tip[] => {
  const tips = lanes.map(({ tipAddresses: accounts, tipFloorLamports: lamportsMin }): Tip => ({
    payee: 'lane',
    lamportsMin,
    accounts,
  }))
  return [...new Map(tips.map(tip => [JSON.stringify(tip), tip])).values()].filter(
    ({ accounts }) => accounts.length > 0,
  )
}

const LANDER_PATHS = ['/lander', '/lander-submit-bundle', '/lander-submit-batch', '/send'] as const

/** The submission routes that a network has, with their tips. */
const submissionRoutesOf = ({
  lander,
  lanes,
  relay,
  relayBundle,
}: ControlNetwork): SubmissionRoute[] => [
  ...(lander === undefined ? [] : LANDER_PATHS.map(path => ({ path, tips: landerTips(lander) }))),
  ...(lanes.length === 0 ? [] : [{ path: '/race', tips: laneTips(lanes) } as const]),
  ...(relay === undefined ? [] : [{ path: '/relay', tips: relayTips(relay) } as const]),
  ...(relayBundle === undefined
    ? []
    : [{ path: '/relay-bundle', tips: relayTips(relayBundle) } as const]),
]

/** The addresses of a location. */
const toLocation = (location: Location): CatalogLocation => {
  const [listener] = location.listeners
  const scheme = listener?.tls === undefined ? 'http' : 'https'
  const own = listener === undefined ? '' : `${scheme}://${listener.host}:${listener.port}`
  const rpcOrigin = location.publicUrl ?? own
  return {
    id: location.id,
    name: location.name,
    rpcOrigin,
    wsOrigin: rpcOrigin.replace(/^http/, 'ws'),
    streamingTargets: location.streamingTargets,
  }
}

/** The products, each with its networks and locations. */
export const productsOf = (config: ControlConfig): readonly Product[] =>
  config.products.map(product => ({
    ...product,
    networks: product.networks ?? config.networks.map(({ id }) => id),
    locations: product.locations ?? config.locations.map(({ id }) => id),
  }))

/**
 * Products, networks and locations of the configuration, with their names. What the configuration
 * no longer has is shown by its id.
 */
export const createCatalog = (config: ControlConfig): Catalog => {
  const locations = new Map(config.locations.map(location => [location.id, toLocation(location)]))
  const networks = new Map(config.networks.map(({ id, name }) => [id, name ?? id]))
  const explorers = new Map(config.networks.map(({ id, explorerUrl }) => [id, explorerUrl]))
  const routes = new Map(config.networks.map(one => [one.id, submissionRoutesOf(one)]))
  const products = new Map(config.products.map(({ id, name, kind }) => [id, { id, name, kind }]))
  return {
    product: id => products.get(id) ?? { id, name: id, kind: 'node-access' },
    networkName: id => networks.get(id) ?? id,
    location: id => locations.get(id),
    submissionRoutes: networkId => routes.get(networkId) ?? [],
    explorerUrl: networkId => explorers.get(networkId),
  }
}
