import type { Access } from '../../access/store/tables.js'
import type { AlertRule, WebhookMessage, WebhookRecord } from '../../access/store/webhook-shape.js'
import type { Warning } from '../warnings/rules.js'
import type { Options } from './options.js'
import type { SendResult } from './send.js'

/** How a wait grows after each failed attempt. */
const RETRY_FACTOR = 4
/** The answer by which a receiver asks for nothing more. */
const GONE = 410

/** The kind of messages that the holder asks for. */
export const TEST_KIND = 'test'
/** Follows the kind of a rule in messages of an end. */
const RESOLVED = '.resolved'

type NamedAccess = Pick<Access, 'accessId' | 'holderLabel'>

/** What a rule has found, as it is sent. */
type SentWarning = {
  readonly network: string | null
  readonly location: string | null
  readonly values: Readonly<Record<string, number | string>>
}

/** The body of a message, in the shape of Standard Webhooks. */
export const toBody = (
  access: NamedAccess,
  {
    kind,
    rule,
    warnings,
    isTest = false,
    atMs,
  }: {
    readonly kind: string
    /** Absent of a test of the webhook itself. */
    readonly rule?: string
    readonly warnings: readonly SentWarning[]
    readonly isTest?: boolean
    readonly atMs: number
  },
): string =>
  JSON.stringify({
    type: `access.${kind}`,
    timestamp: new Date(atMs).toISOString(),
    data: {
      accessId: access.accessId,
      label: access.holderLabel ?? '',
      ...(rule === undefined ? {} : { rule }),
      ...(isTest ? { test: true } : {}),
      warnings: warnings.map(({ network, location, values }) => ({ network, location, values })),
    },
  })

/** What was found of an access. */
export type Found = {
  readonly access: NamedAccess
  readonly rules: readonly AlertRule[]
  readonly warnings: readonly Warning[]
  /** Every machine was asked and answered: what is not there has ended. */
  readonly isWhole: boolean
}

type Reported = WebhookRecord['reported'][number]

const keyOf = ({ rule, network, location }: Omit<Reported, 'sinceMs'>): string =>
  JSON.stringify([rule, network, location])

/** Whether what a rule finds is sent to the webhook. */
const isSentTo = (
  { isOn, webhooks }: AlertRule,
  { webhookId }: Pick<WebhookRecord, 'webhookId'>,
): boolean => isOn && (webhooks === null || webhooks.includes(webhookId))

const addMessages = (
  before: WebhookRecord['messages'],
  added: readonly WebhookMessage[],
  messagesMax: number,
): WebhookRecord['messages'] => {
  const all = [...before, ...added]
  // The oldest of those that are not to be sent any more, as long as there is one.
  while (all.length > messagesMax)
    all.splice(
      Math.max(
        all.findIndex(({ state }) => state !== 'pending'),
        0,
      ),
      1,
    )
  return all
}

type Look = {
  readonly id: () => string
  readonly nowMs: number
  readonly options: Pick<Options, 'perKindMs' | 'messagesMax' | 'warningsMax'>
}

const create = (
  access: NamedAccess,
  {
    kind,
    rule,
    warnings,
  }: {
    readonly kind: string
    readonly rule: string
    readonly warnings: readonly SentWarning[]
  },
  { id, nowMs, options }: Look,
): WebhookMessage => ({
  messageId: id(),
  kind,
  createdAtMs: nowMs,
  body: toBody(access, {
    ...{ kind, rule, atMs: nowMs },
    warnings: warnings.slice(0, options.warningsMax),
  }),
  state: 'pending',
  attempts: 0,
  nextAtMs: nowMs,
  status: null,
  problem: '',
})

/** A message for each rule that sends its ends and has some. */
const toResolved = (
  rules: readonly AlertRule[],
  ended: readonly Reported[],
  access: NamedAccess,
  look: Look,
): readonly WebhookMessage[] =>
  rules.flatMap(({ ruleId: rule, kind, sendsResolved }) => {
    const own = ended.filter(one => sendsResolved && one.rule === rule)
    if (own.length === 0) return []
    const warnings = own.map(({ network, location, sinceMs = 0 }) => ({
      ...{ network, location, values: { reportedAtMs: sinceMs } },
    }))
    return [create(access, { kind: `${kind}${RESOLVED}`, rule, warnings }, look)]
  })

/**
 * The webhook after its access was looked at, with a message of each rule that has a warning which
 * was not reported, unless there was one of the rule within `perKindMs`; and one of each rule whose
 * ends are sent. Undefined where nothing has changed.
 */
export const withWarnings = (
  webhook: WebhookRecord,
  { access, rules, warnings, isWhole }: Found,
  look: Look,
): WebhookRecord | undefined => {
  if (webhook.goneAtMs !== null) return undefined
  const { nowMs, options } = look
  const own = rules.filter(rule => isSentTo(rule, webhook))
  const ids = new Set(own.map(({ ruleId }) => ruleId))
  const found = warnings.filter(({ rule }) => ids.has(rule))
  const present = new Set(found.map(keyOf))
  // What belongs to a rule that is gone or off is forgotten, and comes back as new.
  const lasting = webhook.reported.filter(
    one => ids.has(one.rule) && (!isWhole || present.has(keyOf(one))),
  )
  const ended = webhook.reported.filter(one => ids.has(one.rule) && !lasting.includes(one))
  const reported = new Set(lasting.map(keyOf))
  const fresh = found.filter(warning => !reported.has(keyOf(warning)))
  const due = own.filter(({ ruleId }) => {
    const last = webhook.lastOfKind.find(one => one.rule === ruleId)
    // A clock that was set back must not silence a rule for longer.
    const isDue = last === undefined || Math.abs(nowMs - last.atMs) >= options.perKindMs
    return isDue && fresh.some(({ rule }) => rule === ruleId)
  })
  if (due.length === 0 && lasting.length === webhook.reported.length) return undefined
  const sent = fresh.filter(({ rule }) => due.some(({ ruleId }) => ruleId === rule))
  const messages = due.map(({ ruleId: rule, kind }) =>
    create(access, { kind, rule, warnings: found.filter(one => one.rule === rule) }, look),
  )
  return {
    ...webhook,
    reported: [
      ...lasting,
      ...sent.map(({ rule, network, location }) => ({ rule, network, location, sinceMs: nowMs })),
    ],
    lastOfKind: [
      ...webhook.lastOfKind.filter(
        ({ rule, atMs }) =>
          Math.abs(nowMs - atMs) < options.perKindMs && due.every(({ ruleId }) => ruleId !== rule),
      ),
      ...due.map(({ ruleId }) => ({ rule: ruleId, atMs: nowMs })),
    ],
    messages: addMessages(
      webhook.messages,
      [...messages, ...toResolved(own, ended, access, look)],
      options.messagesMax,
    ),
  }
}

/** When the next pending message is due; undefined if none is. */
export const nextDueMs = ({ messages }: WebhookRecord): number | undefined => {
  const due = messages.filter(({ state }) => state === 'pending').map(({ nextAtMs }) => nextAtMs)
  return due.length === 0 ? undefined : Math.min(...due)
}

type RetryOptions = Pick<Options, 'attemptsMax' | 'retryMs' | 'retryMsMax' | 'sendMs'>

const waitAfter = (attempts: number, { retryMs, retryMsMax }: RetryOptions): number =>
  Math.min(retryMs * RETRY_FACTOR ** (attempts - 1), retryMsMax)

const replace = (webhook: WebhookRecord, message: WebhookMessage): WebhookRecord => ({
  ...webhook,
  messages: webhook.messages.map(one => (one.messageId === message.messageId ? message : one)),
})

/** A message whose next attempt this process may make now. */
export type Claim = { readonly webhook: WebhookRecord; readonly message: WebhookMessage }

/**
 * Takes the message that is due first. Its next attempt is put off until this one has ended in any
 * case: a process that ends meanwhile, or another one, makes it then.
 */
export const claim = (
  webhook: WebhookRecord,
  nowMs: number,
  options: RetryOptions,
): Claim | undefined => {
  const [due] = webhook.messages
    .filter(({ state, nextAtMs }) => state === 'pending' && nextAtMs <= nowMs)
    .toSorted((one, other) => one.nextAtMs - other.nextAtMs)
  if (due === undefined || webhook.goneAtMs !== null) return undefined
  const attempts = due.attempts + 1
  const nextAtMs = nowMs + options.sendMs + waitAfter(attempts, options)
  const message = { ...due, attempts, nextAtMs }
  return { webhook: replace(webhook, message), message }
}

/** The webhook whose receiver wants nothing more: what is pending is dropped. */
const withGone = (webhook: WebhookRecord, nowMs: number): WebhookRecord => ({
  ...webhook,
  goneAtMs: nowMs,
  messages: webhook.messages.map(message =>
    message.state === 'pending'
      ? { ...message, state: 'failed', body: '', problem: 'the receiver had answered 410 Gone' }
      : message,
  ),
})

/**
 * The webhook after an attempt that was claimed. Undefined where it is another one by now, or
 * another attempt has begun since.
 */
export const settle = (
  webhook: WebhookRecord,
  { webhook: { webhookId }, message: { messageId, attempts } }: Claim,
  { status, problem }: Pick<SendResult, 'status' | 'problem'>,
  { nowMs, options }: { readonly nowMs: number; readonly options: RetryOptions },
): WebhookRecord | undefined => {
  const current = webhook.messages.find(one => one.messageId === messageId)
  if (webhook.webhookId !== webhookId || current?.state !== 'pending') return undefined
  if (problem === '')
    return replace(webhook, { ...current, state: 'delivered', body: '', status, problem })
  if (current.attempts !== attempts) return undefined
  const isLast = attempts >= options.attemptsMax || status === GONE
  const failed = replace(webhook, {
    ...current,
    status,
    problem,
    ...(isLast
      ? { state: 'failed', body: '' }
      : { nextAtMs: nowMs + waitAfter(attempts, options) }),
  })
  return status === GONE ? withGone(failed, nowMs) : failed
}

/** The webhook with a test message that was sent. */
export const withTest = (
  webhook: WebhookRecord,
  { messageId, createdAtMs }: { readonly messageId: string; readonly createdAtMs: number },
  { status, problem }: Pick<SendResult, 'status' | 'problem'>,
  { nowMs, messagesMax }: { readonly nowMs: number; readonly messagesMax: number },
): WebhookRecord => {
  const tested: WebhookRecord = {
    ...webhook,
    messages: addMessages(
      webhook.messages,
      [
        {
          messageId,
          kind: TEST_KIND,
          createdAtMs,
          body: '',
          state: problem === '' ? 'delivered' : 'failed',
          attempts: 1,
          nextAtMs: createdAtMs,
          status,
          problem,
        },
      ],
      messagesMax,
    ),
  }
  return status === GONE ? withGone(tested, nowMs) : tested
}
