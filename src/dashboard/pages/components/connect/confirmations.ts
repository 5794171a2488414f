import { formatPlural, formatSpan } from '../../lib/format.js'
import type { Access, Client } from '../../lib/wire.js'
import type { Confirmation } from './confirm-dialog.js'

type Details = Omit<Confirmation, 'run'>

/** What the person confirms before the token is regenerated. */
export const confirmRegenerate = (locationName: string, overlapSeconds: number): Details => ({
  title: `Regenerate the token for ${locationName}?`,
  effects: [
    overlapSeconds === 0
      ? 'The current token becomes invalid immediately. Requests with its URLs are refused (HTTP 401), and open WebSockets are closed.'
      : `The current token works for ${formatSpan(overlapSeconds * 1_000)} more. Then requests with its URLs are refused (HTTP 401), and open connections are closed.`,
    'Every service that uses this location needs the new URLs.',
    'The IPv4 restriction is kept. Tokens of other locations are not affected.',
  ],
  action: 'Regenerate token',
})

/** What the person confirms before the token is revoked. */
export const confirmRevoke = (locationName: string, kind: Access['kind']): Details => ({
  title: `Revoke the token for ${locationName}?`,
  effects: [
    'The token becomes invalid immediately. Requests with its URLs are refused (HTTP 401), and open WebSockets are closed.',
    `You cannot use ${locationName} until you generate a new token. The IPv4 restriction is removed as well.`,
    `Your ${kind} stays. Tokens of other locations are not affected.`,
  ],
  action: 'Revoke token',
})

/** How many addresses a question names; the list beside the field has all. */
const NAMED_MAX = 5

/** What the person confirms before a restriction refuses addresses that use the token. */
export const confirmRestrict = (
  address: string,
  refused: readonly Client[],
  nowMs: number,
): Details => {
  const named = refused
    .slice(0, NAMED_MAX)
    .map(client => `${client.address} (${formatSpan(nowMs - client.lastSeenMs)} ago)`)
  const more = refused.length - named.length
  const others = more === 0 ? '' : `, and ${formatPlural(more, 'more address', 'more addresses')}`
  return {
    title: `Restrict the token to ${address}?`,
    effects: [
      `${refused.length === 1 ? 'One other address has' : `${refused.length} other addresses have`} used it in the last 24 hours: ${named.join(', ')}${others}.`,
      'Requests from there are refused immediately (HTTP 403), and open WebSockets are closed.',
    ],
    action: 'Restrict token',
  }
}
