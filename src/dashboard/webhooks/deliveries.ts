import { setTimeout as sleep } from 'node:timers/promises'
import { stateOf } from '../../access/accesses/access-manager.js'
import type { Access } from '../../access/store/tables.js'
import type { WebhookRecord } from '../../access/store/webhook-shape.js'
import type { WebhookManager } from '../../access/webhooks/webhook-manager.js'
import { RpcError } from '../../shared/errors.js'
import type { Log } from '../../shared/log.js'
import { createLogThrottle, LOG_PAUSE_MS } from '../../shared/log-throttle.js'
import type { ReadWarnings } from '../api/warnings.js'
import {
  claim,
  nextDueMs,
  settle,
  TEST_KIND,
  toBody,
  withTest,
  withWarnings,
  type Claim,
} from './messages.js'
import type { Options } from './options.js'
import type { Send, SendResult } from './send.js'

export type DeliveryParts = {
  readonly options: Options
  readonly webhooks: WebhookManager
  readonly find: (accessId: string) => Access | undefined
  readonly readWarnings: ReadWarnings
  readonly send: Send
  /** Makes the id of a message. */
  readonly id: () => string
  readonly now: () => number
  readonly log: Log
}

/** Time after which a machine that may not change accesses tries again: its role may be new. */
const DENIED_MS = 600_000

/** Bounds of the requests that are sent at once: in all, of a person, and one of an access. */
class SendLimits {
  private readonly max: number
  private readonly perPersonMax: number
  private readonly taken = new Map<string, string>()

  constructor({ inFlightMax, inFlightPerPersonMax }: Options) {
    this.max = inFlightMax
    this.perPersonMax = inFlightPerPersonMax
  }

  /** False if another request for the access or its person would exceed a limit. */
  take(accessId: string, subject: string): boolean {
    if (this.taken.size >= this.max || this.taken.has(accessId)) return false
    const own = [...this.taken.values()].filter(other => other === subject).length
    if (own >= this.perPersonMax) return false
    this.taken.set(accessId, subject)
    return true
  }

  release(accessId: string): void {
    this.taken.delete(accessId)
  }
}

/**
 * Looks at the warnings of all accesses with a webhook, one after the other, and sends what is due.
 * What is to be sent is in the documents of the accesses, so a further process, here or on another
 * machine, continues where this one ends.
 */
export class Deliveries {
  private readonly parts: DeliveryParts
  private readonly stopping = new AbortController()
  private readonly limits: SendLimits
  private readonly checking = new Set<Promise<void>>()
  /** Accesses with a message that is due, in the order in which that was found. */
  private readonly waiting = new Set<string>()
  private readonly sending = new Set<Promise<void>>()
  private readonly timers = new Map<string, NodeJS.Timeout>()
  private readonly throttled = createLogThrottle(LOG_PAUSE_MS, () => performance.now())
  private running = Promise.resolve()
  private deniedUntilMs = 0

  constructor(parts: DeliveryParts) {
    this.parts = parts
    this.limits = new SendLimits(parts.options)
  }

  start(): void {
    this.running = this.run()
  }

  /** Aborts the requests that wait for an answer; the next process sends them again. */
  async stop(): Promise<void> {
    this.stopping.abort()
    for (const timer of this.timers.values()) clearTimeout(timer)
    await this.running
    await Promise.all([...this.checking, ...this.sending])
  }

  /** Sends a test message now. Rejects with an RpcError over a limit. */
  async test(access: Access, webhook: WebhookRecord): Promise<SendResult> {
    const { webhooks, send, id, now, options } = this.parts
    const { accessId, subject } = access
    if (!this.limits.take(accessId, subject)) throw new RpcError('unavailable')
    try {
      const sent = { messageId: id(), createdAtMs: now() }
      const body = toBody(access, { kind: TEST_KIND, warnings: [], atMs: sent.createdAtMs })
      const target = await webhooks.reveal(accessId, webhook)
      const result = await send(target, { messageId: sent.messageId, body }, this.stopping.signal)
      await webhooks.change(accessId, current =>
        current.webhookId === webhook.webhookId
          ? withTest(current, sent, result, { nowMs: now(), messagesMax: options.messagesMax })
          : undefined,
      )
      return result
    } finally {
      this.limits.release(accessId)
      this.sendWaiting()
    }
  }

  /** One round after the other: each access at another time of a round. */
  private async run(): Promise<void> {
    const { webhooks, options, now } = this.parts
    const { signal } = this.stopping
    const pause = (ms: number) => sleep(ms, undefined, { signal }).catch(() => {})
    while (!signal.aborted) {
      const ids = now() < this.deniedUntilMs ? [] : webhooks.list()
      for (const accessId of ids) {
        while (this.checking.size >= options.checksInFlightMax) await Promise.race(this.checking)
        if (signal.aborted) return
        const check = this.check(accessId)
          .catch((error: unknown) => this.onError(error))
          .finally(() => this.checking.delete(check))
        this.checking.add(check)
        await pause(options.checkMs / ids.length)
      }
      if (ids.length === 0) await pause(options.checkMs)
    }
  }

  private async check(accessId: string): Promise<void> {
    const { webhooks, find, readWarnings, id, now, options } = this.parts
    const [access, webhook] = [find(accessId), webhooks.find(accessId)]
    if (access === undefined || webhook === undefined) return
    let current = webhook
    if (webhook.goneAtMs === null && stateOf(access, now()) === 'active') {
      const { warnings, missing = [] } = await readWarnings(access)
      const found = { access, warnings, isWhole: missing.length === 0 }
      const look = (one: WebhookRecord) => withWarnings(one, found, { id, nowMs: now(), options })
      // Most often nothing has changed, which needs no transaction.
      if (look(webhook) !== undefined) current = (await webhooks.change(accessId, look)) ?? webhook
    }
    this.schedule(accessId, current)
  }

  /** Sends the next message of an access when it is due. */
  private schedule(accessId: string, webhook: WebhookRecord): void {
    clearTimeout(this.timers.get(accessId))
    this.timers.delete(accessId)
    const dueMs = nextDueMs(webhook)
    if (dueMs === undefined || this.stopping.signal.aborted) return
    const waitMs = dueMs - this.parts.now()
    const enqueue = (): void => {
      this.timers.delete(accessId)
      this.waiting.add(accessId)
      this.sendWaiting()
    }
    if (waitMs <= 0) enqueue()
    // What is due later is found by a later round.
    else if (waitMs <= 2 * this.parts.options.checkMs)
      this.timers.set(accessId, setTimeout(enqueue, waitMs))
  }

  /** Begins to send what the limits allow. */
  private sendWaiting(): void {
    if (this.stopping.signal.aborted) return
    for (const accessId of this.waiting) {
      const access = this.parts.find(accessId)
      if (access !== undefined && !this.limits.take(accessId, access.subject)) continue
      this.waiting.delete(accessId)
      if (access === undefined) continue
      const sending = this.deliver(accessId)
        .catch((error: unknown) => this.onError(error))
        .finally(() => {
          this.sending.delete(sending)
          this.limits.release(accessId)
          this.sendWaiting()
        })
      this.sending.add(sending)
    }
  }

  /** Makes one attempt to send what is due first. */
  private async deliver(accessId: string): Promise<void> {
    const { webhooks, now, options } = this.parts
    let claimed: Claim | undefined
    await webhooks.change(accessId, current => {
      claimed = claim(current, now(), options)
      return claimed?.webhook
    })
    if (claimed === undefined) return
    const made = claimed
    const result = await this.send(accessId, made)
    const settled = await webhooks.change(accessId, current =>
      settle(current, made, result, { nowMs: now(), options }),
    )
    if (settled !== undefined) this.schedule(accessId, settled)
  }

  /** A message whose URL or secret cannot be decrypted counts as a failed attempt. */
  private async send(
    accessId: string,
    { webhook, message }: Claim,
  ): Promise<Pick<SendResult, 'status' | 'problem'>> {
    const { webhooks, send } = this.parts
    try {
      const target = await webhooks.reveal(accessId, webhook)
      return await send(target, message, this.stopping.signal)
    } catch (error) {
      this.onError(error)
      return { status: null, problem: 'the service cannot read the URL and the secret now' }
    }
  }

  private onError(error: unknown): void {
    const { log, now } = this.parts
    if (error instanceof RpcError && error.name === 'changeDenied')
      this.deniedUntilMs = now() + DENIED_MS
    else
      this.throttled(suppressedCount =>
        log.error({ err: error, suppressedCount }, 'warnings were not sent to a webhook'),
      )
  }
}
