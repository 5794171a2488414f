import { openHttpLane } from './http.js'
import { JSON_RPC } from './json-rpc.js'
import type { Lane, LaneConfig, LaneParts } from './lane.js'
import { OCTETS } from './octets.js'
import { presetOf } from './presets.js'
import { toQuicFrame } from './quic-frame.js'
import { toQuicTpu } from './quic-tpu.js'
import { openLaneOverQuic } from './quic.js'
import { TEXT } from './text.js'

/** Opens a lane, which is warm soon after. */
export const openLane = async (config: LaneConfig, parts: LaneParts): Promise<Lane> => {
  switch (config.kind) {
    case 'jsonrpc':
      return openHttpLane(config, JSON_RPC, parts)
    case 'octets':
      return openHttpLane(config, OCTETS, parts)
    case 'text':
      return openHttpLane(config, TEXT, parts)
    case 'quic-frame':
    case 'quic-tpu': {
      const preset = presetOf(config.preset)
      if (preset === undefined) throw new Error(`lane ${config.id} has no preset`)
      const form = config.kind === 'quic-frame' ? toQuicFrame(config) : toQuicTpu(config)
      return openLaneOverQuic(config, preset, form, parts)
    }
  }
}
