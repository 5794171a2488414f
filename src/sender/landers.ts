import type { SenderConfig } from '../config/child-config.js'
import { LanderForwarder, type ForwarderParts } from '../submission/lander/forwarder.js'
import { openNamedUpstream, type UpstreamModules } from '../upstream/named-upstream.js'

/** The lander of one network. */
export type OpenLander = {
  readonly network: string
  readonly forwarder: LanderForwarder
  close(): Promise<void>
}

/** Opens the landers of all networks that have one. */
export const openLanders = (
  { networks }: SenderConfig,
  records: Omit<ForwarderParts, 'upstream'>,
  modules: UpstreamModules,
): Promise<readonly OpenLander[]> =>
  Promise.all(
    networks.flatMap(({ id: network, lander }) => {
      if (lander === undefined) return []
      const open = async (): Promise<OpenLander> => {
        const names = { network, name: 'lander' }
        const upstream = await openNamedUpstream(lander.upstream, names, modules)
        const forwarder = new LanderForwarder(lander, { ...records, upstream })
        return { network, forwarder, close: () => upstream.close() }
      }
      return [open()]
    }),
  )
