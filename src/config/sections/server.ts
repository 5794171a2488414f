import { COMPRESSIONS, defaults } from '../../server/options.js'
import { integer, oneOf, optionsSchema } from '../validators/options-schema.js'

// `trustedProxies` is at the top level, because the dashboard trusts the same proxies.
const { trustedProxies: _proxies, ...server } = defaults

/** The HTTP and WebSocket server of an edge. */
export const serverSection = optionsSchema(server, {
  connectionsMax: integer(16, 2 ** 20, 'connections'),
  connectionsPerAddressMax: integer(16, 2 ** 20, 'connections'),
  // Twice this is less than the 10 s within which a changed certificate is used.
  certificateCheckSeconds: integer(1, 4, 'seconds'),
  // The timers of uWebSockets have 240 steps of 4 s.
  idleSeconds: integer(1, 900, 'seconds'),
  // The range that uWebSockets accepts; its timers have steps of 4 s.
  socketIdleSeconds: integer(8, 960, 'seconds'),
  socketReadBytesMax: integer(1024, 2 ** 30, 'bytes'),
  socketsQueuedBytesMax: integer(1024 ** 2, 2 ** 30, 'bytes'),
  socketCompression: oneOf(COMPRESSIONS),
})
