import { createHash, timingSafeEqual } from 'node:crypto'
import type { Secret } from '../../shared/secret.js'

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest()

/** Whether an Authorization header has the token, compared in constant time. */
export const createBearerCheck = (
  token: Secret | undefined,
): ((authorization: string | undefined) => boolean) => {
  if (token === undefined) return () => false
  const expected = digestOf(token.reveal())
  return (authorization = '') => {
    const [, given = ''] = /^bearer +(\S+)$/i.exec(authorization) ?? []
    return timingSafeEqual(digestOf(given), expected)
  }
}
