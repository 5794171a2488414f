import * as addon from '#native'
import { callNative } from './errors.js'

const LINE_CHARS = 64

const toPem = (der: Uint8Array): string => {
  const lines = Buffer.from(der)
    .toString('base64')
    .match(new RegExp(`.{1,${LINE_CHARS}}`, 'g'))
  return ['-----BEGIN CERTIFICATE-----', ...(lines ?? []), '-----END CERTIFICATE-----', ''].join(
    '\n',
  )
}

/**
 * Certificate authorities of the system, each as PEM: those that the feed and transfers of archives
 * trust. Node.js by itself trusts a list that it was built with. They are read anew each time,
 * because they are renewed.
 */
export const systemAuthorities = (): string[] =>
  callNative(() => addon.systemAuthorities()).map(toPem)
