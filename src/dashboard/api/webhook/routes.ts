import type { Access } from '../../../access/store/tables.js'
import type { WebhookRecord } from '../../../access/store/webhook-shape.js'
import type { WebhookManager } from '../../../access/webhooks/webhook-manager.js'
import { RpcError } from '../../../shared/errors.js'
import { ok, route, type Route } from '../../http/route.js'
import type { Deliveries } from '../../webhooks/deliveries.js'
import type { Options } from '../../webhooks/options.js'
import { parseTargetUrl } from '../../webhooks/target-url.js'
import { defaults as warningOptions } from '../../warnings/options.js'
import { sampleOf } from '../../warnings/rules.js'
import { CHANGE_ERRORS } from '../change-errors.js'
import { rulesOf } from '../warnings.js'
import * as shapes from './shapes.js'

export type WebhookParts = {
  readonly webhooks: WebhookManager
  readonly deliveries: Pick<Deliveries, 'test'>
  readonly options: Options
  readonly now: () => number
}

const PATH = '/api/accesses/:accessId/webhooks'
const ONE = `${PATH}/:webhookId` as const

const createViewOf =
  (webhooks: WebhookManager) => async (accessId: string, webhook: WebhookRecord) => ({
    webhookId: webhook.webhookId,
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

/** The webhook of an access with this id. Throws an RpcError if there is none. */
const demandWebhook = (
  { webhooks }: WebhookParts,
  { accessId }: Access,
  webhookId: string,
): WebhookRecord => {
  const webhook = webhooks.find(accessId, webhookId)
  if (webhook === undefined) throw new RpcError('noWebhook')
  return webhook
}

const settingRoutes = (parts: WebhookParts): readonly Route[] => {
  const { webhooks, options } = parts
  const viewOf = createViewOf(webhooks)
  const parse = (text: string): URL => {
    const parsed = parseTargetUrl(text, options)
    if ('url' in parsed) return parsed.url
    throw new RpcError('wrongInput', { field: 'body.url', problem: parsed.problem })
  }
  const toMade = async (accessId: string, made: WebhookRecord) => {
    const { secret } = await webhooks.reveal(accessId, made)
    return ok({ webhook: await viewOf(accessId, made), secret: secret.reveal() })
  }
  const setting = {
    guard: 'session',
    accessRole: 'manage',
    isRateLimited: true,
    needsRecentSignIn: true,
    audit: 'set-webhook',
    auditRequest: (body: unknown) => ({ origin: originOf(Object(body).url) }),
    body: shapes.wanted,
    answers: { 200: { description: 'The webhook with its secret', body: shapes.made } },
  } as const
  return [
    route({
      method: 'GET',
      path: PATH,
      watchedMs: 5_000,
      guard: 'session',
      accessRole: 'manage',
      summary: 'Where the alerts of an access are sent, and the newest messages',
      answers: { 200: { description: 'In the order in which they were added', body: shapes.list } },
      errors: ['sealingKey'],
      handle: async ({ access: { accessId } }) => {
        const shown = webhooks.of(accessId).map(one => viewOf(accessId, one))
        return ok({ webhooks: await Promise.all(shown) })
      },
    }),
    route({
      ...setting,
      method: 'POST',
      path: PATH,
      summary: 'Add a webhook to an access; up to eight',
      errors: ['webhooksFull', 'sealingKey', ...CHANGE_ERRORS],
      handle: async ({ access: { accessId }, body }) => {
        return toMade(accessId, await webhooks.add(accessId, parse(body.url)))
      },
    }),
    route({
      ...setting,
      method: 'PUT',
      path: ONE,
      summary: 'Replace the URL of a webhook; its secret is a new one',
      errors: ['noWebhook', 'sealingKey', ...CHANGE_ERRORS],
      handle: async ({ access, params, body }) => {
        const { accessId } = access
        const { webhookId } = demandWebhook(parts, access, params.webhookId)
        return toMade(accessId, await webhooks.replace(accessId, webhookId, parse(body.url)))
      },
    }),
    route({
      method: 'DELETE',
      path: ONE,
      guard: 'session',
      accessRole: 'manage',
      isRateLimited: true,
      summary: 'Remove a webhook; what was not sent is dropped, and rules do not name it any more',
      audit: 'remove-webhook',
      answers: { 204: { description: 'Nothing is sent to it any more' } },
      errors: ['noWebhook', ...CHANGE_ERRORS],
      handle: async ({ access, params }) => {
        const webhook = demandWebhook(parts, access, params.webhookId)
        await webhooks.remove(access.accessId, webhook.webhookId)
        return { status: 204 }
      },
    }),
  ]
}

/** Routes of the webhooks of the signed-in person's accesses. */
export const createWebhookRoutes = (parts: WebhookParts): readonly Route[] => {
  const { webhooks, deliveries, now } = parts
  const viewOf = createViewOf(webhooks)
  return [
    ...settingRoutes(parts),
    route({
      method: 'POST',
      path: `${ONE}/reveal-secret`,
      guard: 'session',
      accessRole: 'manage',
      isRateLimited: true,
      needsRecentSignIn: true,
      summary: 'Reveal the signing secret of a webhook',
      audit: 'reveal-webhook',
      answers: { 200: { description: 'The secret', body: shapes.revealed } },
      errors: ['noWebhook', 'sealingKey'],
      handle: async ({ access, params }) => {
        const webhook = demandWebhook(parts, access, params.webhookId)
        const { secret } = await webhooks.reveal(access.accessId, webhook)
        return ok({ secret: secret.reveal() })
      },
    }),
    route({
      method: 'POST',
      path: `${ONE}/test`,
      guard: 'session',
      accessRole: 'manage',
      isRateLimited: true,
      summary: 'Send a test, or what an alert rule would send, and wait for the answer',
      audit: 'test-webhook',
      body: shapes.test,
      answers: { 200: { description: 'How it was answered', body: shapes.tested } },
      errors: ['noWebhook', 'noAlertRule', 'sealingKey', ...CHANGE_ERRORS],
      handle: async ({ access, params, body }) => {
        const webhook = demandWebhook(parts, access, params.webhookId)
        if (body?.ruleId === undefined) return ok(await deliveries.test(access, webhook))
        const rule = rulesOf(access).find(({ ruleId }) => ruleId === body.ruleId)
        const [network = null] = access.networks
        const [location = null] = access.locations
        const warning = rule && sampleOf(rule, access, { network, location }, now(), warningOptions)
        if (warning === undefined) throw new RpcError('noAlertRule')
        return ok(await deliveries.test(access, webhook, warning))
      },
    }),
    route({
      method: 'POST',
      path: `${ONE}/resume`,
      guard: 'session',
      accessRole: 'manage',
      isRateLimited: true,
      summary: 'Send again to a webhook that was turned off by the answer 410 Gone',
      audit: 'resume-webhook',
      answers: { 200: { description: 'It is on', body: shapes.found } },
      errors: ['noWebhook', 'sealingKey', ...CHANGE_ERRORS],
      handle: async ({ access, params }) => {
        const webhook = demandWebhook(parts, access, params.webhookId)
        const { accessId } = access
        const resume = (one: WebhookRecord) => ({ ...one, goneAtMs: null })
        const resumed = await webhooks.change(accessId, webhook.webhookId, resume)
        return ok({ webhook: await viewOf(accessId, resumed ?? webhook) })
      },
    }),
  ]
}
