// Tests of the server, run a second time over TLS; test/soak/tls.ts runs those that take long.
import { env } from 'node:process'

env['SLOTLINE_TEST_TLS'] = '1'
await import('../compiled/pause.js')
await import('../http/exchange.js')
await import('../websocket/server-socket.js')
