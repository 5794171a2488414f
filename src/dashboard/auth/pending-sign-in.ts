import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import * as v from 'valibot'

const Pending = v.object({
  state: v.string(),
  nonce: v.string(),
  verifier: v.string(),
  /** Id of the session that the new one replaces; empty if there was none. */
  replaces: v.string(),
  /** The provider must have asked for the password after this time. */
  authenticatedSinceMs: v.number(),
  expiresAtMs: v.number(),
})

/** State that a sign-in needs when the browser returns from the identity provider. */
export type PendingSignIn = v.InferOutput<typeof Pending>

/** What the cookie of a sign-in is named by. */
export const pendingId = (state: string): string => state.slice(0, ID_CHARS)
/** 72 random bits. */
const ID_CHARS = 12

const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * Seals the state of pending sign-ins into a cookie of the browser, so that the server stores
 * nothing for them. The key exists as long as the process: after a restart pending sign-ins have
 * expired.
 */
export const createPendingSeal = (now: () => number) => {
  const key = randomBytes(32)
  return {
    seal: (pending: PendingSignIn): string => {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, key, nonce)
      const sealed = [nonce, cipher.update(JSON.stringify(pending)), cipher.final()]
      return Buffer.concat([...sealed, cipher.getAuthTag()]).toString('base64url')
    },
    /** Undefined for text that this process did not seal, and for expired state. */
    unseal: (text: string): PendingSignIn | undefined => {
      const bytes = Buffer.from(text, 'base64url')
      if (bytes.length <= NONCE_BYTES + TAG_BYTES) return undefined
      try {
        const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), {
          authTagLength: TAG_BYTES,
        }).setAuthTag(bytes.subarray(bytes.length - TAG_BYTES))
        const plain = decipher.update(bytes.subarray(NONCE_BYTES, bytes.length - TAG_BYTES))
        const pending = v.parse(
          Pending,
          JSON.parse(Buffer.concat([plain, decipher.final()]).toString('utf8')),
        )
        return now() < pending.expiresAtMs ? pending : undefined
      } catch {
        return undefined
      }
    },
  }
}

export type PendingSeal = ReturnType<typeof createPendingSeal>

/** Sealed states of sign-ins that one browser has in progress, by their ids. */
export type PendingSignIns = ReadonlyMap<string, string>

/** Those that this process sealed and that have not expired, the oldest first. */
export const unsealAll = (
  seal: PendingSeal,
  pending: PendingSignIns,
): readonly (PendingSignIn & { readonly id: string })[] =>
  Array.from(pending, ([id, sealed]) => ({ id, state: seal.unseal(sealed) }))
    .flatMap(({ id, state }) => (state === undefined ? [] : [{ id, ...state }]))
    .toSorted((one, other) => one.expiresAtMs - other.expiresAtMs)
