import type { Reply } from '../../shared/http.js'

/** Headers that a page of another origin may read on every reply. */
export const EXPOSED_HEADERS = [
  'Retry-After',
  'X-Bundle-ID',
  'X-Relay-Submission-ID',
  'X-Lander-Findings',
  'X-Race-Lanes',
  'X-RateLimit-Method-Limit',
  'X-RateLimit-Method-Remaining',
] as const

/** Headers that a page of another origin may send. */
const ALLOWED_HEADERS = [
  'content-type',
  'solana-client',
  'authorization',
  'x-token',
  'x-api-key',
] as const

/**
 * On every reply. Any origin may call: access depends on the token, not on the page that uses it.
 */
export const CORS_LINES = [
  'Access-Control-Allow-Origin: *',
  `Access-Control-Expose-Headers: ${EXPOSED_HEADERS.join(', ')}`,
] as const

/** The reply to a preflight. */
export const PREFLIGHT: Reply = {
  status: 204,
  contentType: '',
  headers: {
    'Access-Control-Allow-Methods': 'POST, GET, OPTIONS',
    'Access-Control-Allow-Headers': ALLOWED_HEADERS.join(', '),
    'Access-Control-Max-Age': '86400',
  },
  body: '',
}
