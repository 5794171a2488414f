import type { Config } from '../config.js'
import type { Catalog, CatalogLocation } from '../dashboard/catalog.js'

type Location = Config['locations'][number]

const toLocation = (location: Location): CatalogLocation => {
  const [listener] = location.listeners
  const rpcOrigin = location.publicUrl ?? `http://${listener?.host ?? ''}:${listener?.port ?? 80}`
  return {
    id: location.id,
    name: location.name,
    rpcOrigin,
    wsOrigin: rpcOrigin.replace(/^http/, 'ws'),
    streamingTargets: location.streamingTargets,
  }
}

/** What the configuration offers, as the dashboard shows it. What is no longer offered goes by its id. */
export const createCatalog = (config: Config): Catalog => {
  const locations = new Map(config.locations.map(location => [location.id, toLocation(location)]))
  const networks = new Map(config.networks.map(({ id, name }) => [id, name ?? id]))
  const products = new Map(config.products.map(product => [product.id, product]))
  return {
    product: id => {
      const { name = id, kind = 'node-access' } = products.get(id) ?? {}
      return { id, name, kind }
    },
    networkName: id => networks.get(id) ?? id,
    location: id => locations.get(id),
  }
}
