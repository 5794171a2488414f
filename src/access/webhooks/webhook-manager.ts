import { RpcError } from '../../shared/errors.js'
import { Secret } from '../../shared/secret.js'
import type { AccessJournal } from '../journal/access-journal.js'
import type { AccessStore } from '../store/access-store.js'
import type { AccessDocument } from '../store/tables.js'
import type { WebhookRecord } from '../store/webhook-shape.js'
import { randomBase62, type RandomBytes } from '../tokens/location-token.js'
import { webhookContext } from '../tokens/sealed-parts.js'
import type { Sealing } from '../tokens/sealing.js'

/** What is needed to send to a webhook. */
export type WebhookTarget = { readonly url: Secret; readonly secret: Secret }

/**
 * Manages the webhooks of accesses. One is a part of the document of its access, so whatever is
 * changed is one write, is followed by every machine of a cluster, and is decided by one of them.
 */
export type WebhookManager = {
  find(accessId: string): WebhookRecord | undefined
  /** Ids of all accesses with a webhook. */
  list(): readonly string[]
  /**
   * Sets the webhook of an access in place of another one, with a new signing secret. What was not
   * sent to the former one is dropped.
   */
  set(accessId: string, url: URL): Promise<WebhookRecord>
  /** Rejected where there is none. */
  remove(accessId: string): Promise<void>
  /**
   * Replaces a webhook by what `update` makes of it, which is called again where another change
   * came first; it changes nothing by undefined. Returns the new one, or undefined.
   */
  change(
    accessId: string,
    update: (webhook: WebhookRecord) => WebhookRecord | undefined,
  ): Promise<WebhookRecord | undefined>
  /** URL and signing secret of a webhook of the access. */
  reveal(accessId: string, webhook: WebhookRecord): Promise<WebhookTarget>
}

const WEBHOOK_ID_CHARS = 12
const SECRET_BYTES = 32

/** Prefix of signing secrets, as Standard Webhooks has it. */
const SECRET_PREFIX = 'whsec_'

const createSecret = (randomBytes: RandomBytes): string =>
  `${SECRET_PREFIX}${Buffer.from(randomBytes(SECRET_BYTES)).toString('base64')}`

/** Messages of the former webhook; what was pending is not sent any more. */
const endMessages = (messages: WebhookRecord['messages']): WebhookRecord['messages'] =>
  messages.map(message =>
    message.state === 'pending'
      ? { ...message, state: 'failed', body: '', problem: 'the webhook was replaced' }
      : message,
  )

const requireAccess = (access: AccessDocument | undefined): AccessDocument => {
  if (access === undefined) throw new RpcError('noSuchAccess')
  return access
}

/** Ends a change that has nothing to write. */
class Unchanged extends Error {}

export const createWebhookManager = (options: {
  /** Where accesses are read. */
  readonly store: AccessStore
  /** Where they are changed. */
  readonly journal: AccessJournal
  readonly sealing: Sealing
  readonly randomBytes: RandomBytes
  readonly now: () => number
}): WebhookManager => {
  const { store, journal, sealing, randomBytes, now } = options

  return {
    find: accessId => store.accesses.get(accessId)?.webhook,
    list: () => {
      store.resetRead()
      return Array.from(store.webhooks()?.from('') ?? [], ([accessId]) => accessId)
    },
    set: async (accessId, url) => {
      await sealing.ready()
      const webhookId = `whk_${randomBase62(WEBHOOK_ID_CHARS, randomBytes)}`
      const secret = createSecret(randomBytes)
      let made: WebhookRecord | undefined
      await journal.propose({
        accessId,
        update: current => {
          const access = requireAccess(current)
          made = {
            webhookId,
            origin: url.origin,
            sealedUrl: sealing.seal(url.href, webhookContext(accessId, webhookId, 'url')),
            sealedSecret: sealing.seal(secret, webhookContext(accessId, webhookId, 'secret')),
            createdAtMs: now(),
            goneAtMs: null,
            reported: [],
            // Kept: another receiver does not get more messages than one does.
            lastOfKind: access.webhook?.lastOfKind ?? [],
            messages: endMessages(access.webhook?.messages ?? []),
          }
          return { ...access, webhook: made }
        },
      })
      if (made === undefined) throw new RpcError('changeUnknown')
      return made
    },
    remove: async accessId => {
      await journal.propose({
        accessId,
        update: current => {
          const { webhook, ...access } = requireAccess(current)
          if (webhook === undefined) throw new RpcError('noWebhook')
          return access
        },
      })
    },
    change: async (accessId, update) => {
      try {
        const changed = await journal.propose({
          accessId,
          update: current => {
            const webhook = current?.webhook && update(current.webhook)
            if (current === undefined || webhook === undefined) throw new Unchanged()
            return { ...current, webhook }
          },
        })
        return changed.webhook
      } catch (error) {
        if (error instanceof Unchanged) return undefined
        throw error
      }
    },
    reveal: async (accessId, { webhookId, sealedUrl, sealedSecret }) => {
      await sealing.ready()
      const unseal = (sealed: Uint8Array, what: 'url' | 'secret'): Secret =>
        new Secret(sealing.unseal(sealed, webhookContext(accessId, webhookId, what)))
      return { url: unseal(sealedUrl, 'url'), secret: unseal(sealedSecret, 'secret') }
    },
  }
}
