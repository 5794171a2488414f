import type { Access } from '../../access/store/tables.js'
import type { WebhookMessage, WebhookRecord } from '../../access/store/webhook-shape.js'
import { WARNING_KINDS, type WarningKind } from '../warnings/kinds.js'
import type { Warning } from '../warnings/rules.js'
import type { Options } from './options.js'
import type { SendResult } from './send.js'

/** How a wait grows after each failed attempt. */
const RETRY_FACTOR = 4
/** The answer by which a receiver asks for nothing more. */
const GONE = 410

/** The kind of messages that the holder asks for. */
export const TEST_KIND = 'test'

/** The body of a message, in the shape of Standard Webhooks. */
export const toBody = (
  access: Pick<Access, 'accessId' | 'holderLabel'>,
  {
    kind,
    warnings,
    atMs,
  }: {
    readonly kind: string
    readonly warnings: readonly Warning[]
    readonly atMs: number
  },
): string =>
  JSON.stringify({
    type: `access.${kind}`,
    timestamp: new Date(atMs).toISOString(),
    data: {
      accessId: access.accessId,
      label: access.holderLabel ?? '',
      warnings: warnings.map(({ network, location, values }) => ({ network, location, values })),
    },
  })

/** What was found of an access. */
export type Found = {
  readonly access: Pick<Access, 'accessId' | 'holderLabel'>
  readonly warnings: readonly Warning[]
  /** Every machine was asked and answered: what is not there has ended. */
  readonly isWhole: boolean
}

type Place = WebhookRecord['reported'][number]

const toPlace = ({ kind, network, location }: Place): Place => ({ kind, network, location })
const keyOf = ({ kind, network, location }: Place): string =>
  JSON.stringify([kind, network, location])

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

const create = (
  id: () => string,
  found: Found,
  { kind, nowMs }: { readonly kind: WarningKind; readonly nowMs: number },
  { warningsMax }: Pick<Options, 'warningsMax'>,
): WebhookMessage => ({
  messageId: id(),
  kind,
  createdAtMs: nowMs,
  body: toBody(found.access, {
    kind,
    warnings: found.warnings.filter(warning => warning.kind === kind).slice(0, warningsMax),
    atMs: nowMs,
  }),
  state: 'pending',
  attempts: 0,
  nextAtMs: nowMs,
  status: null,
  problem: '',
})

/**
 * The webhook after its access was looked at, with a message of each kind that has a warning which
 * was not reported, unless there was one of the kind within `perKindMs`. Undefined where nothing
 * has changed.
 */
export const withWarnings = (
  webhook: WebhookRecord,
  found: Found,
  {
    id,
    nowMs,
    options,
  }: {
    readonly id: () => string
    readonly nowMs: number
    readonly options: Pick<Options, 'perKindMs' | 'messagesMax' | 'warningsMax'>
  },
): WebhookRecord | undefined => {
  if (webhook.goneAtMs !== null) return undefined
  const present = new Set(found.warnings.map(keyOf))
  const lasting = found.isWhole
    ? webhook.reported.filter(place => present.has(keyOf(place)))
    : webhook.reported
  const reported = new Set(lasting.map(keyOf))
  const fresh = found.warnings.filter(warning => !reported.has(keyOf(warning)))
  const kinds = WARNING_KINDS.filter(kind => {
    const last = webhook.lastOfKind.find(one => one.kind === kind)
    // A clock that was set back must not silence a kind for longer.
    const isDue = last === undefined || Math.abs(nowMs - last.atMs) >= options.perKindMs
    return isDue && fresh.some(warning => warning.kind === kind)
  })
  if (kinds.length === 0 && lasting.length === webhook.reported.length) return undefined
  const sent = fresh.filter(({ kind }) => kinds.includes(kind))
  return {
    ...webhook,
    reported: [...lasting, ...sent.map(toPlace)],
    lastOfKind: [
      ...webhook.lastOfKind.filter(one => !kinds.some(kind => kind === one.kind)),
      ...kinds.map(kind => ({ kind, atMs: nowMs })),
    ],
    messages: addMessages(
      webhook.messages,
      kinds.map(kind => create(id, found, { kind, nowMs }, options)),
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
