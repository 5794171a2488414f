import type { LaneOptions } from '../../native/upstream/quic-lane.js'
import { seedOf, walletOf } from './keypair.js'
import type { LaneConfig } from './lane.js'
import type { Preset } from './presets.js'

/** How a lane introduces itself, and whom it takes its peer for. */
type Identity = Pick<
  LaneOptions,
  | 'certificate'
  | 'key'
  | 'isProtected'
  | 'isEd25519'
  | 'seed'
  | 'isPeerVerified'
  | 'greeting'
  | 'isGreetingAnswered'
>

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-([0-9a-f])[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const VERSION_4 = '4'

/** The 16 bytes of a UUID; undefined where the text is none. */
const bytesOfUuid = (text: string): Buffer | undefined =>
  UUID.test(text) ? Buffer.from(text.replaceAll('-', ''), 'hex') : undefined

/** Why a credential is none of a preset; undefined where it is one. */
export const explainCredential = (preset: Preset, credential: string): string | undefined => {
  switch (preset.credential) {
    case 'text':
      return undefined
    case 'keypair':
      return seedOf(credential) === undefined ? 'a keypair of 64 bytes in base58' : undefined
    case 'uuid':
      return UUID.test(credential) ? undefined : 'a UUID'
    case 'uuid4':
      return UUID.exec(credential)?.[1] === VERSION_4 ? undefined : 'a UUID of version 4'
    case 'pem':
      return credential.includes('-----BEGIN CERTIFICATE-----') &&
        credential.includes('PRIVATE KEY-----')
        ? undefined
        : 'a certificate and its private key in PEM, from credentialFile'
  }
}

const PLAIN = {
  isProtected: false,
  isEd25519: false,
  isPeerVerified: false,
  isGreetingAnswered: false,
} as const

/** Of a lane whose credential is one of its preset. */
export const toIdentity = (
  { credential = '', isProtected }: Pick<LaneConfig, 'credential' | 'isProtected'>,
  preset: Preset,
): Identity => {
  switch (preset.shown) {
    case 'name':
      return { ...PLAIN, certificate: 'named', key: credential, isProtected }
    case 'ed25519-name':
      return { ...PLAIN, certificate: 'named', key: credential.toLowerCase(), isEd25519: true }
    case 'wallet':
      // Of a keypair nothing but the public key may leave this machine.
      return { ...PLAIN, certificate: 'named', key: walletOf(credential) ?? '' }
    case 'node': {
      const seed = seedOf(credential)
      return { ...PLAIN, certificate: 'node', ...(seed !== undefined && { seed }) }
    }
    case 'issued':
      return { ...PLAIN, certificate: 'issued', key: credential, isPeerVerified: true }
    case 'first-stream': {
      const greeting = bytesOfUuid(credential) ?? Buffer.from(credential)
      return { ...PLAIN, certificate: 'none', greeting, isGreetingAnswered: true }
    }
    case 'first-stream-with-flags': {
      const flags = Buffer.of(isProtected ? 1 : 0)
      const greeting = Buffer.concat([bytesOfUuid(credential) ?? Buffer.alloc(0), flags])
      return { ...PLAIN, certificate: 'node', greeting }
    }
  }
}
