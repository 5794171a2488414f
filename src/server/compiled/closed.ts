import { loadFunctions, type ConnectionLimit } from './functions.js'

/** Connections of this process that the server has closed because of a limit, since the start. */
export const closedConnections = (): Readonly<Record<ConnectionLimit, number>> =>
  loadFunctions().closedConnections()
