import type { Starter } from '../../config/starter-file.js'
import type { Answers } from './questions.js'

/** What a starter file contains, from complete answers. */
export const toStarter = (answers: Answers): Starter => {
  const all = (name: string): readonly string[] => answers.get(name) ?? []
  const one = (name: string): string | undefined => all(name)[0]
  const given = (name: string): string => one(name) ?? ''
  const upstream = (name: string) => {
    const url = one(name)
    return url === undefined
      ? undefined
      : { url, credential: one(`${name}-credential`), tips: all(`${name}-tip`) }
  }
  const issuer = one('issuer')
  const certFile = one('cert')
  return {
    dataDir: given('data-dir'),
    network: given('network'),
    feed: { endpoint: given('feed'), xToken: one('feed-token') },
    programs: all('program'),
    rpc: upstream('rpc'),
    lander: upstream('lander'),
    relay: upstream('relay'),
    relayBundle: upstream('relay-bundle'),
    serviceTips: all('service-tip'),
    location: {
      id: given('location'),
      name: one('location-name') ?? given('location'),
      publicUrl: one('public-url'),
    },
    listener: { host: given('host'), port: Number(given('port')) },
    tls: certFile === undefined ? undefined : { certFile, keyFile: given('key') },
    product: { id: given('product'), name: one('product-name') ?? given('product') },
    dashboardUrl: one('dashboard-url'),
    identity:
      issuer === undefined
        ? undefined
        : { issuer, clientId: given('client-id'), clientSecret: one('client-secret') },
  }
}
