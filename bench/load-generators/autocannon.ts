// autocannon at full speed, in a separate process.
import autocannon from 'autocannon'
import { onStart } from '../child.js'
import type { ClosedLoopResult, ClosedLoop } from './closed-loop.js'

/** The part of a wrong answer that is shown. */
const WRONG_CHARS_MAX = 200

onStart<ClosedLoop, ClosedLoopResult>(
  async ({ target, exchanges, connectionCount, warmMs, durationMs }) => {
    const replies = new Set(exchanges.map(exchange => exchange.reply))
    let wrongAnswer: string | undefined
    const isRight = (reply: string): boolean => {
      if (replies.has(reply)) return true
      wrongAnswer ??= reply.slice(0, WRONG_CHARS_MAX)
      return false
    }
    const load = (ms: number) =>
      autocannon({
        url: `http://127.0.0.1:${target.port}${target.path}`,
        method: 'POST',
        headers: { 'content-type': target.contentType ?? 'application/json' },
        connections: connectionCount,
        duration: ms / 1000,
        requests: exchanges.map(({ body }) => ({
          body: typeof body === 'string' ? body : Buffer.from(body),
        })),
        verifyBody: body => isRight(String(body)),
      })
    const warm = await load(warmMs)
    const cpuBefore = process.cpuUsage()
    const result = await load(durationMs)
    const cpu = process.cpuUsage(cpuBefore)
    // At the end autocannon aborts the requests in flight: at most one of each connection.
    const unanswered = Math.max(0, result.requests.sent - result.requests.total - connectionCount)
    const { errors, timeouts, mismatches, non2xx } = result
    return {
      requestsPerSecond: result['2xx'] / result.duration,
      answered: warm['2xx'] + result['2xx'],
      wrong: mismatches + non2xx,
      lost: errors + timeouts + unanswered,
      wrongAnswer,
      clientCpu: (cpu.user + cpu.system) / 1e6 / result.duration,
    }
  },
)
