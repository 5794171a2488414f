import * as addon from '#native'
import { callNative } from './errors.js'

const toPem = (der: Uint8Array): string => {
  const lines = Buffer.from(der)
    .toString('base64')
    .match(/.{1,64}/g)
  return ['-----BEGIN CERTIFICATE-----', ...(lines ?? []), '-----END CERTIFICATE-----', ''].join(
    '\n',
  )
}

/**
 * Certificate authorities of the system as PEM, which the feed and transfers of archives trust.
 * Node.js by default trusts a list from its build. Read on each call, because the system may update
 * them.
 */
export const systemAuthorities = (): string[] =>
  callNative(() => addon.systemAuthorities()).map(toPem)
