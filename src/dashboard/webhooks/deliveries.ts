import { setTimeout as sleep } from 'node:timers/promises'
import { stateOf } from '../../access/accesses/access-manager.js'
import type { Access } from '../../access/store/tables.js'
import type { WebhookRecord } from '../../access/store/webhook-shape.js'
import type { WebhookManager } from '../../access/webhooks/webhook-manager.js'
import { RpcError } from '../../shared/errors.js'
import type { Log } from '../../shared/log.js'
import { createLogThrottle, LOG_PAUSE_MS } from '../../shared/log-throttle.js'
import { rulesOf, type ReadWarnings } from '../api/warnings.js'
import type { Warning } from '../warnings/rules.js'
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

/** A webhook of an access. */
type Target = { readonly accessId: string; readonly webhookId: string }

const keyOf = ({ accessId, webhookId }: Target): string => `${accessId}/${webhookId}`

/** Bounds of the requests at once: in all, of a person and an access, and one of a webhook. */
class SendLimits {
  private readonly options: Options
  private readonly taken = new Map<
    string,
    { readonly accessId: string; readonly subject: string }
  >()

  constructor(options: Options) {
    this.options = options
  }

  /** False if another request for the webhook, its access or its person would exceed a limit. */
  take(target: Target, subject: string): boolean {
    const { inFlightMax, inFlightPerPersonMax, inFlightPerAccessMax } = this.options
    if (this.taken.size >= inFlightMax || this.taken.has(keyOf(target))) return false
    const { accessId } = target
    const others = [...this.taken.values()]
    const ofPerson = others.filter(other => other.subject === subject).length
    const ofAccess = others.filter(other => other.accessId === accessId).length
    if (ofPerson >= inFlightPerPersonMax || ofAccess >= inFlightPerAccessMax) return false
    this.taken.set(keyOf(target), { accessId, subject })
    return true
  }

  release(target: Target): void {
    this.taken.delete(keyOf(target))
  }
}

/**
 * Looks at the rules of all accesses with a webhook, one after the other, and sends what is due.
 * What is to be sent is in the documents of the accesses, so a further process, here or on another
 * machine, continues where this one ends.
 */
export class Deliveries {
  private readonly parts: DeliveryParts
  private readonly stopping = new AbortController()
  private readonly limits: SendLimits
  private readonly checking = new Set<Promise<void>>()
  /** Webhooks with a message that is due, by their keys, in the order in which that was found. */
  private readonly waiting = new Map<string, Target>()
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

  /**
   * Sends a test message now, or what `warning` of a rule would look like. Rejects with an RpcError
   * over a limit.
   */
  async test(access: Access, webhook: WebhookRecord, warning?: Warning): Promise<SendResult> {
    const { webhooks, send, id, now, options } = this.parts
    const { accessId, subject } = access
    const { webhookId, createdAtMs } = webhook
    const target = { accessId, webhookId }
    if (!this.limits.take(target, subject)) throw new RpcError('unavailable')
    try {
      const sent = { messageId: id(), createdAtMs: now() }
      const atMs = sent.createdAtMs
      const body = toBody(
        access,
        warning === undefined
          ? { kind: TEST_KIND, warnings: [], atMs }
          : { kind: warning.kind, rule: warning.rule, warnings: [warning], isTest: true, atMs },
      )
      const where = await webhooks.reveal(accessId, webhook)
      const result = await send(where, { messageId: sent.messageId, body }, this.stopping.signal)
      await webhooks.change(accessId, webhookId, current =>
        // Its URL may have been replaced meanwhile.
        current.createdAtMs === createdAtMs
          ? withTest(current, sent, result, { nowMs: now(), messagesMax: options.messagesMax })
          : undefined,
      )
      return result
    } finally {
      this.limits.release(target)
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
    const access = find(accessId)
    let current = webhooks.of(accessId)
    if (access === undefined) return
    const isOn = current.some(({ goneAtMs }) => goneAtMs === null)
    if (isOn && stateOf(access, now()) === 'active') {
      const { warnings, missing = [] } = await readWarnings(access)
      const found = { access, rules: rulesOf(access), warnings, isWhole: missing.length === 0 }
      const look = (one: WebhookRecord) => withWarnings(one, found, { id, nowMs: now(), options })
      // Most often nothing has changed, which needs no transaction.
      if (current.some(one => look(one) !== undefined))
        current = (await webhooks.changeAll(accessId, look)) ?? current
    }
    for (const webhook of current) this.schedule(accessId, webhook)
  }

  /** Sends the next message to a webhook when it is due. */
  private schedule(accessId: string, webhook: WebhookRecord): void {
    const target = { accessId, webhookId: webhook.webhookId }
    const key = keyOf(target)
    clearTimeout(this.timers.get(key))
    this.timers.delete(key)
    const dueMs = nextDueMs(webhook)
    if (dueMs === undefined || this.stopping.signal.aborted) return
    const waitMs = dueMs - this.parts.now()
    const enqueue = (): void => {
      this.timers.delete(key)
      this.waiting.set(key, target)
      this.sendWaiting()
    }
    if (waitMs <= 0) enqueue()
    // What is due later is found by a later round.
    else if (waitMs <= 2 * this.parts.options.checkMs)
      this.timers.set(key, setTimeout(enqueue, waitMs))
  }

  /** Begins to send what the limits allow. */
  private sendWaiting(): void {
    if (this.stopping.signal.aborted) return
    for (const [key, target] of this.waiting) {
      const access = this.parts.find(target.accessId)
      if (access !== undefined && !this.limits.take(target, access.subject)) continue
      this.waiting.delete(key)
      if (access === undefined) continue
      const sending = this.deliver(target)
        .catch((error: unknown) => this.onError(error))
        .finally(() => {
          this.sending.delete(sending)
          this.limits.release(target)
          this.sendWaiting()
        })
      this.sending.add(sending)
    }
  }

  /** Makes one attempt to send what is due first. */
  private async deliver({ accessId, webhookId }: Target): Promise<void> {
    const { webhooks, now, options } = this.parts
    let claimed: Claim | undefined
    await webhooks.change(accessId, webhookId, current => {
      claimed = claim(current, now(), options)
      return claimed?.webhook
    })
    if (claimed === undefined) return
    const made = claimed
    const result = await this.send(accessId, made)
    const settled = await webhooks.change(accessId, webhookId, current =>
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
        log.error({ err: error, suppressedCount }, 'alerts were not sent to a webhook'),
      )
  }
}
