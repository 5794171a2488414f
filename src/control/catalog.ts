import type { Product } from '../access/accesses/product.js'
import type { Config } from '../config/config.js'
import type { Catalog, CatalogLocation } from '../dashboard/api/catalog.js'

type Location = Config['locations'][number]

/** Where clients find a location. */
const toLocation = (location: Location): CatalogLocation => {
  const [listener] = location.listeners
  const own = listener === undefined ? '' : `http://${listener.host}:${listener.port}`
  const rpcOrigin = location.publicUrl ?? own
  return {
    id: location.id,
    name: location.name,
    rpcOrigin,
    wsOrigin: rpcOrigin.replace(/^http/, 'ws'),
    streamingTargets: location.streamingTargets,
  }
}

/** What can be granted, each with the networks and locations that it offers. */
export const productsOf = (config: Config): readonly Product[] =>
  config.products.map(product => ({
    ...product,
    networks: product.networks ?? config.networks.map(({ id }) => id),
    locations: product.locations ?? config.locations.map(({ id }) => id),
  }))

/**
 * What the configuration offers, as the dashboard shows it. What it has no more is shown by its id.
 */
export const createCatalog = (config: Config): Catalog => {
  const locations = new Map(config.locations.map(location => [location.id, toLocation(location)]))
  const networks = new Map(config.networks.map(({ id, name }) => [id, name ?? id]))
  const products = new Map(config.products.map(({ id, name, kind }) => [id, { id, name, kind }]))
  return {
    product: id => products.get(id) ?? { id, name: id, kind: 'node-access' },
    networkName: id => networks.get(id) ?? id,
    location: id => locations.get(id),
  }
}
