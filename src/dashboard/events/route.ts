import { RpcError } from '../../shared/errors.js'
import { route, type Route } from '../http/route.js'
import type { EventStreams } from './event-streams.js'

/** The stream of a page. */
export const createEventRoute = (streams: EventStreams): Route =>
  route({
    method: 'GET',
    path: '/api/events',
    guard: 'session',
    summary:
      'Server-sent events: `accesses` when accesses or tokens have changed, `signed-out` at the end of the session',
    answers: { 200: { description: 'A stream of type `text/event-stream`' } },
    errors: ['unavailable'],
    handle: ({ session, cookie }) => {
      const id = cookie('session')
      if (id === undefined) throw new RpcError('signedOut')
      return {
        status: 200,
        stream: streams.open({ id, subject: session.subject }),
        headers: {
          'Content-Type': 'text/event-stream',
          // A proxy must not collect it.
          'X-Accel-Buffering': 'no',
          // Otherwise a process that ends waits for the connection.
          Connection: 'close',
        },
      }
    },
  })
