import { openHttpLane } from './http.js'
import { FRAME } from './frame.js'
import { jsonFormOf } from './json.js'
import { JSON_RPC } from './json-rpc.js'
import type { Lane, LaneConfig, LaneParts } from './lane.js'
import { OCTETS } from './octets.js'
import { presetOf } from './presets.js'
import { openLaneOverQuic } from './quic.js'
import { TEXT } from './text.js'

/** Opens a lane, which is warm soon after. */
export const openLane = async (config: LaneConfig, parts: LaneParts): Promise<Lane> => {
  switch (config.kind) {
    case 'jsonrpc':
      return openHttpLane(config, JSON_RPC, parts)
    case 'octets':
      return openHttpLane(config, OCTETS, parts)
    case 'frame':
      return openHttpLane(config, FRAME, parts)
    case 'json':
      return openHttpLane(config, jsonFormOf(config), parts)
    case 'text':
      return openHttpLane(config, TEXT, parts)
    case 'quic-frame':
    case 'quic-tpu': {
      const preset = presetOf(config.preset)
      if (preset === undefined) throw new Error(`lane ${config.id} has no preset`)
      return openLaneOverQuic(config, preset, parts)
    }
  }
}
