import * as addon from '#native'
import { callNative } from '../errors.js'

/** Functions of the server in the addon; undefined if this thread has no event loop. */
export const serverFunctions = (): object | undefined =>
  callNative(() => addon.serverFunctions()) ?? undefined
