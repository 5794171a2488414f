import type { PeerCertificate } from 'node:tls'

/** Name of the machine that a certificate belongs to; empty if it has none, or several. */
export const commonNameOf = (certificate: Pick<PeerCertificate, 'subject'> | undefined): string => {
  const name: unknown = certificate?.subject?.CN
  return typeof name === 'string' ? name : ''
}
