import type { EdgeConfig } from '../../config/child-config.js'
import { createForward, type Forward, type Forwarded } from '../../rpc/forward.js'
import { UpstreamFailure } from '../../upstream/errors.js'
import { openNamedUpstream, type UpstreamModules } from '../../upstream/named-upstream.js'

/** Who answers the other methods of a network, and what must be closed. */
export type OpenForward = {
  readonly forward: Forward
  close(): Promise<void>
}

/** What the client sent beside its call is not the upstream's to see. */
const HEADERS = { 'content-type': 'application/json' }

/** Opens the upstream RPC of a network; undefined if it has none. */
export const openForward = async (
  { id, rpc }: EdgeConfig['networks'][number],
  modules: UpstreamModules,
): Promise<OpenForward | undefined> => {
  if (rpc === undefined) return undefined
  const { upstream: section, ...options } = rpc
  const upstream = await openNamedUpstream(section, { network: id, name: 'rpc' }, modules)
  const send = async (body: Uint8Array): Promise<Forwarded> => {
    try {
      return await upstream.send({ method: 'POST', path: '', headers: HEADERS, body })
    } catch (error) {
      if (error instanceof UpstreamFailure) return { failure: error.kind }
      throw error
    }
  }
  return { forward: createForward(options, send), close: () => upstream.close() }
}
