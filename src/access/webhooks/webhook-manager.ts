import { RpcError } from '../../shared/errors.js'
import { Secret } from '../../shared/secret.js'
import { WEBHOOKS_MAX } from './bounds.js'
import type { AccessJournal } from '../journal/access-journal.js'
import type { AccessStore } from '../store/access-store.js'
import type { AccessDocument } from '../store/tables.js'
import type { AlertRule, WebhookRecord } from '../store/webhook-shape.js'
import { randomBase62, type RandomBytes } from '../tokens/location-token.js'
import { webhookContext } from '../tokens/sealed-parts.js'
import type { Sealing } from '../tokens/sealing.js'

/** What is needed to send to a webhook. */
export type WebhookTarget = { readonly url: Secret; readonly secret: Secret }

/** The webhook that a change makes of one; undefined if it changes nothing. */
type Update = (webhook: WebhookRecord) => WebhookRecord | undefined

/**
 * Manages the webhooks of accesses. They are a part of the document of their access, so whatever is
 * changed is one write, is followed by every machine of a cluster, and is decided by one of them.
 */
export type WebhookManager = {
  /** Those of an access, in the order in which they were added. */
  of(accessId: string): readonly WebhookRecord[]
  find(accessId: string, webhookId: string): WebhookRecord | undefined
  /** Ids of all accesses with a webhook. */
  list(): readonly string[]
  /** Adds one with a new signing secret. Rejected if the access has `WEBHOOKS_MAX`. */
  add(accessId: string, url: URL): Promise<WebhookRecord>
  /**
   * Replaces the URL and the signing secret of one. What was not sent to the former URL is dropped.
   * Rejected where there is none.
   */
  replace(accessId: string, webhookId: string, url: URL): Promise<WebhookRecord>
  /** Removes one, also from the rules that name it. Rejected where there is none. */
  remove(accessId: string, webhookId: string): Promise<void>
  /**
   * Replaces each webhook by what `update` makes of it, which is called again where another change
   * came first. Returns all of them, or undefined if none is changed.
   */
  changeAll(accessId: string, update: Update): Promise<readonly WebhookRecord[] | undefined>
  /** The same of one; returns it, or undefined. */
  change(accessId: string, webhookId: string, update: Update): Promise<WebhookRecord | undefined>
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

const findWebhook = (
  webhooks: readonly WebhookRecord[],
  webhookId: string,
): WebhookRecord | undefined => webhooks.find(one => one.webhookId === webhookId)

/** The rule, which is not sent to this webhook any more. */
const without = (rule: AlertRule, webhookId: string): AlertRule =>
  rule.webhooks === null
    ? rule
    : { ...rule, webhooks: rule.webhooks.filter(id => id !== webhookId) }

/** Ends a change that has nothing to write. */
class Unchanged extends Error {}

type Parts = {
  /** Where accesses are read. */
  readonly store: AccessStore
  /** Where they are changed. */
  readonly journal: AccessJournal
  readonly sealing: Sealing
  readonly randomBytes: RandomBytes
  readonly now: () => number
}

/** Makes a webhook with a URL and a new secret; `before` is what it replaces. */
const createMake =
  ({ sealing, randomBytes, now }: Parts) =>
  (accessId: string, url: URL, before?: WebhookRecord): WebhookRecord => {
    const webhookId = before?.webhookId ?? `whk_${randomBase62(WEBHOOK_ID_CHARS, randomBytes)}`
    const secret = createSecret(randomBytes)
    return {
      webhookId,
      origin: url.origin,
      sealedUrl: sealing.seal(url.href, webhookContext(accessId, webhookId, 'url')),
      sealedSecret: sealing.seal(secret, webhookContext(accessId, webhookId, 'secret')),
      createdAtMs: now(),
      goneAtMs: null,
      reported: [],
      // Kept: another receiver does not get more messages than one does.
      lastOfKind: before?.lastOfKind ?? [],
      messages: endMessages(before?.messages ?? []),
    }
  }

/** Writes what `change` makes of the webhooks of an access, and returns the one that it made. */
const createWrite =
  ({ sealing, journal }: Parts) =>
  async (
    accessId: string,
    change: (webhooks: readonly WebhookRecord[]) => {
      readonly made: WebhookRecord
      readonly webhooks: readonly WebhookRecord[]
    },
  ): Promise<WebhookRecord> => {
    await sealing.ready()
    let last: WebhookRecord | undefined
    await journal.propose({
      accessId,
      update: current => {
        const access = requireAccess(current)
        const { made, webhooks } = change(access.webhooks)
        last = made
        return { ...access, webhooks }
      },
    })
    if (last === undefined) throw new RpcError('changeUnknown')
    return last
  }

const createChangeAll =
  (journal: AccessJournal): WebhookManager['changeAll'] =>
  async (accessId, update) => {
    try {
      const changed = await journal.propose({
        accessId,
        update: current => {
          const updated = current?.webhooks.map(update) ?? []
          if (current === undefined || updated.every(one => one === undefined))
            throw new Unchanged()
          const webhooks = current.webhooks.map((webhook, index) => updated[index] ?? webhook)
          return { ...current, webhooks }
        },
      })
      return changed.webhooks
    } catch (error) {
      if (error instanceof Unchanged) return undefined
      throw error
    }
  }

export const createWebhookManager = (options: Parts): WebhookManager => {
  const { store, journal, sealing } = options

  const find = (accessId: string, webhookId: string): WebhookRecord | undefined =>
    findWebhook(store.accesses.get(accessId)?.webhooks ?? [], webhookId)
  const make = createMake(options)
  const write = createWrite(options)
  const changeAll = createChangeAll(journal)

  return {
    of: accessId => store.accesses.get(accessId)?.webhooks ?? [],
    find,
    list: () => {
      store.resetRead()
      return Array.from(store.webhooks()?.from('') ?? [], ([accessId]) => accessId)
    },
    add: (accessId, url) =>
      write(accessId, webhooks => {
        if (webhooks.length >= WEBHOOKS_MAX)
          throw new RpcError('webhooksFull', { max: WEBHOOKS_MAX })
        const made = make(accessId, url)
        return { made, webhooks: [...webhooks, made] }
      }),
    replace: (accessId, webhookId, url) =>
      write(accessId, webhooks => {
        const before = findWebhook(webhooks, webhookId)
        if (before === undefined) throw new RpcError('noWebhook')
        const made = make(accessId, url, before)
        return { made, webhooks: webhooks.map(one => (one === before ? made : one)) }
      }),
    remove: async (accessId, webhookId) => {
      await journal.propose({
        accessId,
        update: current => {
          const access = requireAccess(current)
          const { webhooks, alertRules } = access
          if (findWebhook(webhooks, webhookId) === undefined) throw new RpcError('noWebhook')
          return {
            ...access,
            webhooks: webhooks.filter(one => one.webhookId !== webhookId),
            ...(alertRules && { alertRules: alertRules.map(rule => without(rule, webhookId)) }),
          }
        },
      })
    },
    changeAll,
    change: async (accessId, webhookId, update) => {
      const changed = await changeAll(accessId, one =>
        one.webhookId === webhookId ? update(one) : undefined,
      )
      return changed && findWebhook(changed, webhookId)
    },
    reveal: async (accessId, { webhookId, sealedUrl, sealedSecret }) => {
      await sealing.ready()
      const unseal = (sealed: Uint8Array, what: 'url' | 'secret'): Secret =>
        new Secret(sealing.unseal(sealed, webhookContext(accessId, webhookId, what)))
      return { url: unseal(sealedUrl, 'url'), secret: unseal(sealedSecret, 'secret') }
    },
  }
}
