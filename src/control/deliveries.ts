import { randomBytes } from 'node:crypto'
import type { AccessService } from '../access/service.js'
import { randomBase62 } from '../access/tokens/location-token.js'
import type { WebhookManager } from '../access/webhooks/webhook-manager.js'
import type { ReadWarnings } from '../dashboard/api/warnings.js'
import { Deliveries } from '../dashboard/webhooks/deliveries.js'
import type { Options } from '../dashboard/webhooks/options.js'
import { createResolve } from '../dashboard/webhooks/resolve.js'
import { createSend, type Send } from '../dashboard/webhooks/send.js'
import type { Log } from '../shared/log.js'
import type { Metrics } from '../shared/metrics.js'

const MESSAGE_ID_CHARS = 24

/** Sends warnings to webhooks from now on. */
export const openDeliveries = (
  options: Options,
  {
    accessService,
    webhooks,
    readWarnings,
    log,
    metrics,
    now,
  }: {
    readonly accessService: AccessService
    readonly webhooks: WebhookManager
    readonly readWarnings: ReadWarnings
    readonly log: Log
    readonly metrics: Metrics
    readonly now: () => number
  },
): Deliveries => {
  const resolve = createResolve(options)
  const elapsed = (): number => performance.now()
  const sendTo = createSend(options, { resolve, now, elapsed })
  const send: Send = async (...args) => {
    const result = await sendTo(...args)
    const outcome = result.problem === '' ? 'delivered' : 'failed'
    metrics.counter('webhookAttempts', { outcome }).add(1)
    return result
  }
  const deliveries = new Deliveries({
    options,
    webhooks,
    find: accessId => accessService.find(accessId),
    readWarnings,
    send,
    id: () => `msg_${randomBase62(MESSAGE_ID_CHARS, randomBytes)}`,
    now,
    log,
  })
  deliveries.start()
  return deliveries
}
