/**
 * Credentials of the dev upstreams, in the shape of real ones. Not secret: these upstreams listen
 * on loopback and protect nothing.
 */
export const CREDENTIALS = {
  lander: 'hml-sandbox',
  /** Of the same lander as senders over QUIC whose keys are UUIDs. */
  uuid: '00112233-4455-4677-8899-aabbccddeeff',
  /** Of the engine that answers bundle ids. */
  engine: '5a11d8b0-51f7-4c0f-9d0e-5a9d80c5e0b1',
  /** Of the engine that answers signatures. */
  iris: 'iris-sandbox',
  /** The dashboard's, at the identity provider. */
  identity: { clientId: 'slotline-dashboard', clientSecret: 'sandbox-client' },
} as const
