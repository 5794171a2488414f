import type { Config } from './schema.js'

/** The locations that this machine serves. One of a cluster only shows the others. */
export const ownLocations = ({
  cluster,
  locations,
}: Pick<Config, 'cluster' | 'locations'>): Config['locations'] =>
  cluster === undefined ? locations : locations.filter(({ id }) => id === cluster.location)
