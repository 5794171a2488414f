import type { Access } from '../../../access/store/tables.js'
import type { WebhookRecord } from '../../../access/store/webhook-shape.js'
import type { WebhookManager } from '../../../access/webhooks/webhook-manager.js'
import { RpcError } from '../../../shared/errors.js'
import { ok, route, type Route } from '../../http/route.js'
import type { Deliveries } from '../../webhooks/deliveries.js'
import type { Options } from '../../webhooks/options.js'
import { parseTargetUrl } from '../../webhooks/target-url.js'
import { CHANGE_ERRORS } from '../change-errors.js'
import * as shapes from './shapes.js'

export type WebhookParts = {
  readonly webhooks: WebhookManager
  readonly deliveries: Pick<Deliveries, 'test'>
  readonly options: Options
}

const PATH = '/api/accesses/:accessId/webhook'

const createViewOf =
  (webhooks: WebhookManager) => async (accessId: string, webhook: WebhookRecord) => ({
    url: (await webhooks.reveal(accessId, webhook)).url.reveal(),
    createdAtMs: webhook.createdAtMs,
    goneAtMs: webhook.goneAtMs,
    deliveries: webhook.messages.toReversed().map(message => ({
      messageId: message.messageId,
      kind: message.kind,
      createdAtMs: message.createdAtMs,
      state: message.state,
      attempts: message.attempts,
      nextAtMs: message.state === 'pending' ? message.nextAtMs : null,
      status: message.status,
      problem: message.problem,
    })),
  })

/** The part of a URL that is no secret; empty of what is no URL. */
const originOf = (text: unknown): string => {
  const url = typeof text === 'string' && URL.canParse(text.trim()) ? new URL(text.trim()) : null
  return url === null || url.origin === 'null' ? '' : url.origin
}

/** The webhook of an access. Throws an RpcError if there is none. */
const demandWebhook = ({ webhooks }: WebhookParts, { accessId }: Access): WebhookRecord => {
  const webhook = webhooks.find(accessId)
  if (webhook === undefined) throw new RpcError('noWebhook')
  return webhook
}

const settingRoutes = (parts: WebhookParts): readonly Route[] => {
  const { webhooks, options } = parts
  const viewOf = createViewOf(webhooks)
  return [
    route({
      method: 'GET',
      path: PATH,
      guard: 'session',
      summary: 'Where the warnings of an access are sent, and the newest messages',
      answers: { 200: { description: 'The webhook, or null', body: shapes.found } },
      errors: ['sealingKey'],
      handle: async ({ access }) => {
        const { accessId } = access
        const webhook = webhooks.find(accessId)
        return ok({ webhook: webhook === undefined ? null : await viewOf(accessId, webhook) })
      },
    }),
    route({
      method: 'PUT',
      path: PATH,
      guard: 'session',
      isRateLimited: true,
      needsRecentSignIn: true,
      summary: 'Set the webhook of an access, in place of another one; its secret is a new one',
      audit: 'set-webhook',
      auditRequest: body => ({ origin: originOf(Object(body).url) }),
      body: shapes.wanted,
      answers: { 200: { description: 'The webhook with its secret', body: shapes.made } },
      errors: ['sealingKey', ...CHANGE_ERRORS],
      handle: async ({ access, body }) => {
        const { accessId } = access
        const parsed = parseTargetUrl(body.url, options)
        if ('problem' in parsed)
          throw new RpcError('wrongInput', { field: 'body.url', problem: parsed.problem })
        const made = await webhooks.set(accessId, parsed.url)
        const { secret } = await webhooks.reveal(accessId, made)
        return ok({ webhook: await viewOf(accessId, made), secret: secret.reveal() })
      },
    }),
    route({
      method: 'DELETE',
      path: PATH,
      guard: 'session',
      isRateLimited: true,
      summary: 'Remove the webhook of an access; what was not sent is dropped',
      audit: 'remove-webhook',
      answers: { 204: { description: 'Nothing is sent any more' } },
      errors: ['noWebhook', ...CHANGE_ERRORS],
      handle: async ({ access }) => {
        await webhooks.remove(access.accessId)
        return { status: 204 }
      },
    }),
  ]
}

/** Routes of the webhooks of the signed-in person's accesses. */
export const createWebhookRoutes = (parts: WebhookParts): readonly Route[] => {
  const { webhooks, deliveries } = parts
  const viewOf = createViewOf(webhooks)
  return [
    ...settingRoutes(parts),
    route({
      method: 'POST',
      path: `${PATH}/reveal-secret`,
      guard: 'session',
      isRateLimited: true,
      needsRecentSignIn: true,
      summary: 'Reveal the signing secret of the webhook',
      audit: 'reveal-webhook',
      answers: { 200: { description: 'The secret', body: shapes.revealed } },
      errors: ['noWebhook', 'sealingKey'],
      handle: async ({ access }) => {
        const webhook = demandWebhook(parts, access)
        const { secret } = await webhooks.reveal(access.accessId, webhook)
        return ok({ secret: secret.reveal() })
      },
    }),
    route({
      method: 'POST',
      path: `${PATH}/test`,
      guard: 'session',
      isRateLimited: true,
      summary: 'Send a test message to the webhook, and wait for its answer',
      audit: 'test-webhook',
      answers: { 200: { description: 'How it was answered', body: shapes.tested } },
      errors: ['noWebhook', 'sealingKey', ...CHANGE_ERRORS],
      handle: async ({ access }) => {
        const webhook = demandWebhook(parts, access)
        return ok(await deliveries.test(access, webhook))
      },
    }),
    route({
      method: 'POST',
      path: `${PATH}/resume`,
      guard: 'session',
      isRateLimited: true,
      summary: 'Send again to a webhook that was turned off by the answer 410 Gone',
      audit: 'resume-webhook',
      answers: { 200: { description: 'It is on', body: shapes.found } },
      errors: ['noWebhook', 'sealingKey', ...CHANGE_ERRORS],
      handle: async ({ access }) => {
        const webhook = demandWebhook(parts, access)
        const resumed = await webhooks.change(access.accessId, one => ({ ...one, goneAtMs: null }))
        return ok({ webhook: await viewOf(access.accessId, resumed ?? webhook) })
      },
    }),
  ]
}
