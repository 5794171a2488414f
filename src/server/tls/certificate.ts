import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { explainOpen } from '../../shared/files/private-file.js'

/** Files of a certificate, followed by those that it was issued by, and of its key, in PEM. */
export type CertificateFiles = { readonly certFile: string; readonly keyFile: string }

/** The certificates of a listener: the first is for clients that name a host of no other. */
export type ListenerTls = CertificateFiles & { readonly sni?: readonly CertificateFiles[] }

export type Certificate = {
  readonly chain: Buffer
  readonly key: Buffer
  /** When it ends. */
  readonly endMs: number
}

/** Longest file that is read. */
const FILE_BYTES_MAX = 256 * 1024

/** A certificate that cannot serve; the message is one line, without any content of a file. */
export class CertificateError extends Error {
  override readonly name = 'CertificateError'
}

const readPem = (file: string, isSecret: boolean): Buffer => {
  let pem: Buffer
  try {
    const { mode, size } = statSync(file)
    const why = isSecret ? explainOpen(file, mode) : undefined
    if (why !== undefined) throw new CertificateError(why)
    if (size > FILE_BYTES_MAX)
      throw new CertificateError(`${file} has more than ${FILE_BYTES_MAX} bytes`)
    pem = readFileSync(file)
  } catch (error) {
    if (error instanceof CertificateError) throw error
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    throw new CertificateError(`${file} ${isMissing ? 'does not exist' : 'cannot be read'}`)
  }
  return pem
}

const parseCertificate = (file: string, pem: Buffer): X509Certificate => {
  try {
    return new X509Certificate(pem)
  } catch {
    throw new CertificateError(`${file} is no certificate in PEM`)
  }
}

const parseKey = (file: string, key: Buffer): KeyObject => {
  if (key.includes('ENCRYPTED')) throw new CertificateError(`${file} has a password`)
  try {
    return createPrivateKey({ key, format: 'pem' })
  } catch {
    throw new CertificateError(`${file} is no private key in PEM`)
  }
}

/** The size of an RSA key: clients refuse shorter ones, and longer ones take too long. */
const RSA_BITS = { min: 2_048, max: 4_096 }

const explainSize = ({ publicKey }: X509Certificate): string | undefined => {
  const { modulusLength: bits } = publicKey.asymmetricKeyDetails ?? {}
  return bits === undefined || (bits >= RSA_BITS.min && bits <= RSA_BITS.max)
    ? undefined
    : `its RSA key has ${bits} bits, not ${RSA_BITS.min} to ${RSA_BITS.max}`
}

/** What OpenSSL refuses beside all that. */
const explainRefusal = (cert: Buffer, key: Buffer): string | undefined => {
  try {
    createSecureContext({ cert, key, minVersion: 'TLSv1.2' })
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message.replace(/^.*:/, '') : String(error)
  }
}

/** Reads a certificate with its key. Throws `CertificateError` where a listener cannot use it. */
export const readCertificate = (
  { certFile, keyFile }: CertificateFiles,
  nowMs: number,
): Certificate => {
  const chain = readPem(certFile, false)
  const certificate = parseCertificate(certFile, chain)
  const endMs = Date.parse(certificate.validTo)
  if (nowMs >= endMs) throw new CertificateError(`${certFile} ended on ${certificate.validTo}`)
  if (nowMs < Date.parse(certificate.validFrom))
    throw new CertificateError(`${certFile} is valid from ${certificate.validFrom} on`)
  const key = readPem(keyFile, true)
  if (!certificate.checkPrivateKey(parseKey(keyFile, key)))
    throw new CertificateError(`${keyFile} is not the key of ${certFile}`)
  const refusal = explainSize(certificate) ?? explainRefusal(chain, key)
  if (refusal !== undefined) throw new CertificateError(`${certFile} is refused: ${refusal}`)
  return { chain, key, endMs }
}

/** Every certificate of a listener, in the order of their precedence. */
export const certificatesOf = (tls: ListenerTls): readonly CertificateFiles[] => [
  tls,
  ...(tls.sni ?? []),
]
