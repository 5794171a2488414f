import type { AccessDocument, TokenScope } from '../store/tables.js'

/** What a sealed token is bound to. NUL is not allowed in ids, so no two scopes share one. */
export const tokenContext = (scope: TokenScope, tokenId: string): string =>
  [scope.accessId, scope.network, scope.location, tokenId].join('\0')

/** The same of a webhook: no scope of a token has two parts and one of these words. */
export const webhookContext = (
  accessId: string,
  webhookId: string,
  what: 'url' | 'secret',
): string => [accessId, webhookId, what].join('\0')

/** The access with what `map` makes of everything that is sealed in it. */
export const mapSealed = (
  access: AccessDocument,
  map: (sealed: Uint8Array, context: string) => Uint8Array,
): AccessDocument => {
  const { accessId, tokens, webhooks } = access
  return {
    ...access,
    tokens: tokens.map(token => {
      const { network, location, tokenId, sealed } = token
      const context = tokenContext({ accessId, network, location }, tokenId)
      return Object.assign({}, token, { sealed: map(sealed, context) })
    }),
    webhooks: webhooks.map(webhook => {
      const { webhookId, sealedUrl, sealedSecret } = webhook
      const ofWebhook = (sealed: Uint8Array, what: 'url' | 'secret'): Uint8Array =>
        map(sealed, webhookContext(accessId, webhookId, what))
      return Object.assign({}, webhook, {
        sealedUrl: ofWebhook(sealedUrl, 'url'),
        sealedSecret: ofWebhook(sealedSecret, 'secret'),
      })
    }),
  }
}
