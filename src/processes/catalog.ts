import type { Config } from '../config.js'
import type { Catalog, CatalogLocation } from '../dashboard/catalog.js'

type Location = Config['locations'][number]

/** Where clients find a location. */
const toLocation = ({ id, name, listeners: [listener] }: Location): CatalogLocation => {
  const place = listener === undefined ? '' : `${listener.host}:${listener.port}`
  return {
    id,
    name,
    rpcOrigin: `http://${place}`,
    wsOrigin: `ws://${place}`,
    streamingTargets: [],
  }
}

/** What the configuration offers, as the dashboard shows it. */
export const createCatalog = (config: Config): Catalog => {
  const locations = new Map(config.locations.map(location => [location.id, toLocation(location)]))
  return {
    product: id => ({ id, name: id, kind: 'node-access' }),
    networkName: id => id,
    location: id => locations.get(id),
  }
}
