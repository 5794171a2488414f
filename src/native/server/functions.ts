import * as addon from '#native'
import { callNative } from '../errors.js'

/** Functions of the compiled server; undefined where it was not compiled with the addon. */
export const serverFunctions = (): object | undefined =>
  callNative(() => addon.serverFunctions()) ?? undefined
