import { COMPRESSIONS, defaults } from '../../server/options.js'
import { integer, oneOf, optionsSchema } from '../validators/options-schema.js'
import { withRenamed } from '../validators/renamed.js'

// `trustedProxies` is at the top level, because the dashboard trusts the same proxies.
const { trustedProxies: _proxies, ...server } = defaults

/** The HTTP and WebSocket server of an edge. */
export const serverSection = withRenamed(
  optionsSchema(server, {
    // The range that uWebSockets.js accepts; its timers have steps of 4 s.
    socketIdleSeconds: integer(8, 960, 'seconds'),
    socketReadBytesMax: integer(1024, 2 ** 30, 'bytes'),
    socketsQueuedBytesMax: integer(1024 ** 2, 2 ** 30, 'bytes'),
    socketCompression: oneOf(COMPRESSIONS),
  }),
  {
    pieceBytes: { to: 'chunkBytes' },
    piecesKeptMax: { to: 'chunksPooledMax' },
    backlogProbeBytes: { to: 'unreadProbeBytes' },
    backlogProbesMax: { to: 'unreadProbesMax' },
    backlogForgetMs: { to: 'unreadForgetMs' },
  },
)
