import type { Config } from '../config/config.js'

/** Where browsers find the dashboard of a configuration. */
export const publicUrlOf = ({ dashboard }: Config): URL =>
  new URL(dashboard.publicUrl ?? `http://${dashboard.host}:${dashboard.port}`)
