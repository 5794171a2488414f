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

const nameIn = ({ subject }: X509Certificate): string => /^CN=(.*)/m.exec(subject)?.[1] ?? ''

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

/** What a client of HTTP/2 sends first: the preface, and settings without any (RFC 9113). */
const HTTP2_PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0', 'latin1')

/** Errors of TLS that no other attempt would correct. */
const isRefusal = (code: string): boolean =>
  /CERT|ISSUER|SIGNATURE|SELF_SIGNED|ALTNAME|^ERR_SSL/.test(code)

/**
 * Why a member of etcd is not trusted, or does not accept the certificate, and what to do;
 * undefined if all is well, or it does not answer.
 */
const explainServer = (
  endpoint: string,
  identity: Identity,
  limitMs: number,
): Promise<string | undefined> =>
  new Promise(resolve => {
    const { hostname, port } = new URL(endpoint)
    const host = hostname.replace(/^\[(.*)\]$/, '$1')
    const options: ConnectionOptions = { host, port: Number(port || 443), ...identity }
    let isTrusted = false
    const socket = connect({ ...options, ALPNProtocols: ['h2'] }, () => {
      isTrusted = true
      socket.write(HTTP2_PREFACE)
    })
    const finish = (problem: string | undefined): void => {
      socket.destroy()
      resolve(problem)
    }
    // In TLS 1.3 the handshake ends before the server has looked at the certificate. What it sends
    // then, its settings of HTTP/2 or an alert, tells.
    socket.once('data', () => finish(undefined))
    socket.setTimeout(limitMs, () => finish(undefined))
    socket.on('error', (error: NodeJS.ErrnoException & { readonly reason?: string }) => {
      if (!isRefusal(error.code ?? '')) return finish(undefined)
      // Of an alert, the message of OpenSSL has several lines.
      const message = error.reason ?? error.message
      finish(
        isTrusted
          ? `${endpoint} refuses the certificate: ${message}; check its clock and its trusted-ca-file`
          : `${endpoint} is not trusted: ${message}; check caFile and the member's certificate`,
      )
    })
    socket.on('close', () => finish(undefined))
  })

/**
 * Throws if a member of etcd has a certificate of another authority or name, or an old one, or
 * refuses this one.
 */
export const checkServers = async (
  endpoints: readonly string[],
  identity: Identity,
  limitMs: number,
): Promise<void> => {
  const problems = endpoints.map(endpoint => explainServer(endpoint, identity, limitMs))
  const problem = (await Promise.all(problems)).find(found => found !== undefined)
  if (problem !== undefined) throw new IdentityError(`etcd at ${problem}`)
}
