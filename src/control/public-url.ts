import type { Config } from '../config/config.js'

/** The public URL of the dashboard. */
export const publicUrlOf = ({ dashboard }: Config): URL =>
  new URL(dashboard.publicUrl ?? `http://${dashboard.host}:${dashboard.port}`)
