import type { Access } from '../../lib/wire.js'
import type { Confirmation } from './confirm-dialog.js'

type Details = Omit<Confirmation, 'run'>

/** What the person confirms before the token is regenerated. */
export const confirmRegenerate = (locationName: string): Details => ({
  title: `Regenerate the token for ${locationName}?`,
  effects: [
    'The current token becomes invalid immediately. Requests with its URLs are refused (HTTP 401), and open WebSockets are closed.',
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
