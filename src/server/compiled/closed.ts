import type { ConnectionLimit } from '../library.js'
import { loadFunctions } from './functions.js'

/**
 * Connections of this process that the compiled server has closed because of a limit, since the
 * start; undefined where it was not compiled.
 */
export const closedConnections = (): Readonly<Record<ConnectionLimit, number>> | undefined =>
  loadFunctions()?.closedConnections()
