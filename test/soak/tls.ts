// The other tests of the server over TLS: most of their clients wait for time-outs.
import { isSoak } from '../fixtures/soak.js'

if (isSoak) {
  process.env['SLOTLINE_TEST_TLS'] = '1'
  await import('../edge/direct-reads.js')
  await import('../server/compiled/closed.js')
  await import('../server/compiled/connections.js')
  await import('../server/compiled/many-closes.js')
  await import('../server/compiled/parser.js')
  await import('../server/compiled/turns.js')
  await import('../server/http/reply-stream.js')
  await import('../server/unread-replies.js')
  await import('../server/websocket/slow-consumers.js')
}
