import { createHmac } from 'node:crypto'
import type { Secret } from '../../shared/secret.js'

const SECRET_PREFIX = /^whsec_/
const MS_PER_SECOND = 1_000

/** The headers of a message by Standard Webhooks, signed for one attempt. */
export const signedHeaders = (
  secret: Secret,
  { messageId, body }: { readonly messageId: string; readonly body: string },
  nowMs: number,
): Readonly<Record<string, string>> => {
  const timestamp = String(Math.floor(nowMs / MS_PER_SECOND))
  const key = Buffer.from(secret.reveal().replace(SECRET_PREFIX, ''), 'base64')
  const signature = createHmac('sha256', key)
    .update(`${messageId}.${timestamp}.${body}`)
    .digest('base64')
  return {
    'webhook-id': messageId,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature}`,
  }
}
