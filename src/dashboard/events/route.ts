import * as v from 'valibot'
import { RpcError } from '../../shared/errors.js'
import { route, type Route } from '../http/route.js'
import type { EventStreams } from './event-streams.js'
import type { createWatches } from './watches.js'

const WATCH_MAX = 8_192
const watchProblem = `must be a JSON array of paths, at most ${WATCH_MAX} characters`
const paths = v.pipe(v.array(v.string()), v.readonly())

const query = v.strictObject({
  watch: v.optional(
    v.pipe(
      v.string(watchProblem),
      v.maxLength(WATCH_MAX, watchProblem),
      v.description('JSON array of paths of this API whose answers are sent when they change'),
    ),
    '[]',
  ),
})

const parsePaths = (text: string): readonly string[] => {
  try {
    return v.parse(paths, JSON.parse(text))
  } catch {
    throw new RpcError('wrongInput', { field: 'query.watch', problem: watchProblem })
  }
}

/** The stream of a page. */
export const createEventRoute = (
  streams: EventStreams,
  watchOf: ReturnType<typeof createWatches>,
): Route =>
  route({
    method: 'GET',
    path: '/api/events',
    guard: 'session',
    summary:
      'Server-sent events: `accesses` when accesses or tokens have changed, `answer` when what is watched has, `signed-out` at the end of the session',
    query,
    answers: { 200: { description: 'A stream of type `text/event-stream`' } },
    errors: ['unavailable', 'wrongInput'],
    handle: ({ session, cookie, peer, query: { watch } }) => {
      const id = cookie('session')
      if (id === undefined) throw new RpcError('signedOut')
      const watches = parsePaths(watch).flatMap((path, index) => {
        const found = watchOf(session, path, peer)
        return found === undefined ? [] : [Object.assign(found, { index })]
      })
      const { subject, verifiedEmail } = session
      return {
        status: 200,
        stream: streams.open({ id, subject, verifiedEmail }, watches),
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
