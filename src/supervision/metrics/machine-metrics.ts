import type { Config } from '../../config/config.js'
import { readBuild, type Build } from '../build.js'
import type { Metrics } from '../../shared/metrics.js'
import { freeBytes } from '../../storage/disk-space.js'

/** Of the build id of the addon: enough to tell builds apart. */
const DIGITS = 16

/** What runs, as it is logged and reported. */
export const describeBuild = (): Build => {
  const build = readBuild()
  return { ...build, addon: build.addon.slice(0, DIGITS) }
}

/** Reports what runs, and the disk of the data directory. */
export const meterMachine = (metrics: Metrics, { dataDir, store }: Config, build: Build): void => {
  metrics.gauge('build', build).set(1)
  metrics.gauge('diskReserve').set(store.diskReserveBytes)
  const free = metrics.gauge('diskFree')
  metrics.beforeSnapshot(() => free.set(freeBytes(dataDir)))
}
