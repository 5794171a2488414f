import type { ChainProviderConfig } from '../config/child-config.js'

/** The public URL of the dashboard. */
export const publicUrlOf = ({ dashboard }: Pick<ChainProviderConfig, 'dashboard'>): URL =>
  new URL(dashboard.publicUrl ?? `http://${dashboard.host}:${dashboard.port}`)
