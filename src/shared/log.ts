import { destination, pino, stdTimeFunctions, type Logger } from 'pino'
import { defaults, type Options } from './log-options.js'
import { ADMIN_TOKEN_PREFIX, API_KEY_PREFIX, REDACTED, TOKEN_PREFIX } from './secret.js'

/**
 * What every part logs with. Give a child the request id and the token id, never a token or a URL.
 */
export type Log = Logger

/** The log of one process. */
export type OpenLog = {
  readonly log: Log
  /** Writes the buffered lines. Call it before the process ends. */
  flush(): void
  /** Lines dropped because standard output was not read. */
  droppedCount(): number
}

// `_` may be percent-encoded in a URL, or a JSON escape. It may also follow a token that is
// directly followed by another one: then both are removed.
const UNDERSCORE = '(?:_|%5f|\\\\+u005f)'
const shapeOf = (prefix: string, sign: string): string =>
  `(?:${prefix.replace('_', UNDERSCORE)}(?:${sign}|${UNDERSCORE})+)`
// linear: a match begins with `sl`, in which no repetition begins, and nothing follows it
const TOKENS = new RegExp(
  [
    shapeOf(TOKEN_PREFIX, '[0-9a-z]'),
    shapeOf(API_KEY_PREFIX, '[0-9a-z]'),
    shapeOf(ADMIN_TOKEN_PREFIX, '[0-9a-z-]'),
  ].join('|'),
  'gi',
)

/**
 * Removes everything that looks like a location token, an API key or an admin token, whole or
 * truncated.
 */
export const redactTokens = (text: string): string =>
  text.replace(TOKENS, found => `${found.slice(0, 3).toLowerCase()}_${REDACTED}`)

const cut = (line: string, lineCharsMax: number): string => {
  if (line.length <= lineCharsMax) return line
  const start = line.slice(0, Math.floor(lineCharsMax / 2))
  return `${JSON.stringify({ level: 'warn', msg: 'a long line was cut', chars: line.length, start })}\n`
}

/**
 * Creates a log that writes redacted and bounded lines. Exported so that tests can use their own
 * destination.
 */
export const createLog = (
  role: string,
  write: (line: string) => void,
  options: Options = defaults,
): Log =>
  pino(
    {
      level: options.level,
      base: { role, pid: process.pid },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: label => ({ level: label }) },
    },
    // pino redacts by path, not inside a message, a stack or a URL, so the finished line is
    // searched. Before it is truncated: half a token at the end of a line is still half a secret.
    { write: line => write(cut(redactTokens(line), options.lineCharsMax)) },
  )

/**
 * Opens the log of one process on standard output. A slow reader of it never stops the event loop.
 */
export const openLog = (role: string, options: Options = defaults): OpenLog => {
  const stdout = destination({ dest: 1, sync: false, maxLength: options.bufferBytesMax })
  let droppedCount = 0
  stdout.on('drop', () => droppedCount++)
  return {
    log: createLog(role, line => stdout.write(line), options),
    flush: () => stdout.flushSync(),
    droppedCount: () => droppedCount,
  }
}
