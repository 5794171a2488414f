import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { connect, type ConnectionOptions } from 'node:tls'
import { readPrivateFile } from '../access/store/private-file.js'
import type { Identity } from './etcd/client.js'

/** Files of a certificate in PEM. */
export type CertificateFiles = {
  readonly caFile: string
  readonly certFile: string
  readonly keyFile: string
}

/** A certificate that etcd does not accept; the message says what to do. */
class IdentityError extends Error {}

const readCertificate = (file: string): X509Certificate => {
  let pem: Buffer
  try {
    pem = readFileSync(file)
  } catch {
    throw new IdentityError(`${file} cannot be read; see docs/cluster.md for making it`)
  }
  try {
    return new X509Certificate(pem)
  } catch {
    throw new IdentityError(`${file} is no certificate in PEM`)
  }
}

/** When the certificate of this file ends, in Unix milliseconds. */
export const certificateEndMs = (file: string): number => Date.parse(readCertificate(file).validTo)

const readKey = (file: string): Buffer => {
  try {
    const text = readPrivateFile(file)
    if (text !== undefined) return Buffer.from(text)
  } catch {
    throw new IdentityError(`${file} cannot be read; see docs/cluster.md for making it`)
  }
  throw new IdentityError(`${file} can be read by others; run: chmod 600 ${file}`)
}

const nameIn = ({ subject }: X509Certificate): string => /^CN=(.*)$/m.exec(subject)?.[1] ?? ''

/**
 * Reads the certificates of a client of etcd and checks what etcd would refuse without saying why:
 * the authority, the time, the name and the key.
 */
export const readIdentity = (
  { caFile, certFile, keyFile }: CertificateFiles,
  name: string,
  nowMs: number,
): Identity => {
  const [ca, cert, key] = [readCertificate(caFile), readCertificate(certFile), readKey(keyFile)]
  if (!cert.checkIssued(ca) || !cert.verify(ca.publicKey))
    throw new IdentityError(`${certFile} was not issued by the authority of ${caFile}`)
  for (const [file, one] of [
    [caFile, ca],
    [certFile, cert],
  ] as const) {
    if (nowMs >= Date.parse(one.validTo))
      throw new IdentityError(`${file} expired on ${one.validTo}; make a new one and restart`)
    if (nowMs < Date.parse(one.validFrom))
      throw new IdentityError(`${file} is valid from ${one.validFrom} on; check the clock`)
  }
  if (nameIn(cert) !== name)
    throw new IdentityError(`${certFile} is of ${nameIn(cert)}, not of ${name}`)
  if (!cert.checkPrivateKey(createPrivateKey(key)))
    throw new IdentityError(`${keyFile} is not the key of ${certFile}`)
  return { ca: readFileSync(caFile), cert: readFileSync(certFile), key }
}

/** Errors of TLS that no other attempt would correct. */
const isRefusal = (code: string): boolean =>
  /CERT|ISSUER|SIGNATURE|SELF_SIGNED|ALTNAME|^ERR_SSL/.test(code)

/** Why a member of etcd is not trusted; undefined where it is, or does not answer. */
const explainServer = (
  endpoint: string,
  identity: Identity,
  limitMs: number,
): Promise<string | undefined> =>
  new Promise(resolve => {
    const { hostname, port } = new URL(endpoint)
    const host = hostname.replace(/^\[(.*)\]$/, '$1')
    const options: ConnectionOptions = { host, port: Number(port || 443), ...identity }
    const socket = connect({ ...options, ALPNProtocols: ['h2'] }, () => finish(undefined))
    const finish = (problem: string | undefined): void => {
      socket.destroy()
      resolve(problem)
    }
    socket.setTimeout(limitMs, () => finish(undefined))
    socket.on('error', (error: NodeJS.ErrnoException) => {
      const code = error.code ?? ''
      finish(isRefusal(code) ? `${endpoint} is not trusted: ${error.message}` : undefined)
    })
  })

/** Throws where a member of etcd has a certificate of another authority or name, or an old one. */
export const checkServers = async (
  endpoints: readonly string[],
  identity: Identity,
  limitMs: number,
): Promise<void> => {
  const problems = endpoints.map(endpoint => explainServer(endpoint, identity, limitMs))
  const problem = (await Promise.all(problems)).find(found => found !== undefined)
  if (problem !== undefined)
    throw new IdentityError(`etcd at ${problem}; check caFile and the member's certificate`)
}
