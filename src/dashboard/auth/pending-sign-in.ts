import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import * as v from 'valibot'

const Pending = v.object({
  state: v.string(),
  nonce: v.string(),
  verifier: v.string(),
  /** Id of the session that the new one replaces; empty where there was none. */
  replaces: v.string(),
  expiresAtMs: v.number(),
})

/** What must be known again when somebody comes back from the identity provider. */
export type PendingSignIn = v.InferOutput<typeof Pending>

const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * Keeps sign-ins under way in the browsers that began them, sealed: however many begin one, nothing
 * grows here. The key lives as long as the process; after a restart a sign-in is begun again.
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
    /** Undefined for whatever this process did not seal, and for what is too old. */
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
