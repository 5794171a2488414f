import { KINDS, type WarningKind } from '../../../warnings/kinds.js'
import { formatCount, formatSpan } from '../format.js'
import type { AlertRule, Webhook } from '../wire.js'

const MINUTE_MS = 60_000

/** Name of each kind of rule. */
export const KIND_NAMES: Readonly<Record<WarningKind, string>> = {
  'limit-near': 'Limit nearly used up',
  'errors-rising': 'Share of errors',
  'p99-high': 'p99 latency',
  'landing-rate-low': 'Landing rate',
  'location-behind': 'Location degraded or behind',
  'rental-ending': 'Rental ends soon',
}

const RESOLVED = '.resolved'

/** Name of the kind of a message. */
export const nameOfMessage = (kind: string): string => {
  if (kind === 'test') return 'Test'
  const name = (of: string): string => KIND_NAMES[of as WarningKind] ?? of
  return kind.endsWith(RESOLVED) ? `${name(kind.slice(0, -RESOLVED.length))}: resolved` : name(kind)
}

export const UNITS = { percent: '%', ms: 'ms', slots: 'slots', days: 'days' } as const

export const formatWindow = (minutes: number): string => formatSpan(minutes * MINUTE_MS)

/** When a rule finds something: `at least 10 % of requests in 5 minutes, from 20 errors on`. */
export const conditionOf = (rule: AlertRule): string => {
  const { kind, threshold, windowMinutes, countMin, onlyRising, method } = rule
  const value = `${formatCount(threshold)} ${UNITS[KINDS[kind].threshold.unit]}`
  const span = formatWindow(windowMinutes)
  switch (kind) {
    case 'limit-near':
      return `at least ${value} of a limit, over a minute`
    case 'errors-rising':
      return `at least ${value} of the requests at a location in ${span}, from ${formatCount(countMin)} errors${onlyRising ? ', and twice the share of the hour before' : ''}`
    case 'p99-high':
      return `at least ${value} in ${span}, from ${formatCount(countMin)} calls${method === '' ? '' : ` of ${method}`}`
    case 'landing-rate-low':
      return `below ${value} in ${span}, from ${formatCount(countMin)} submissions`
    case 'location-behind':
      return `an incident, or at least ${value} behind the best location`
    case 'rental-ending':
      return `within ${value}`
  }
}

/** The URL of a webhook without what may be a secret. */
export const originOf = ({ url }: Pick<Webhook, 'url'>): string =>
  URL.canParse(url) ? new URL(url).host : url

/** Where a rule is sent: `every webhook`. */
export const targetsOf = (
  { webhooks, sendsResolved }: AlertRule,
  all: readonly Webhook[],
): string => {
  const chosen = all.filter(({ webhookId }) => webhooks?.includes(webhookId) === true)
  const names = chosen.map(originOf).join(', ')
  const where = webhooks === null ? 'every webhook' : names || 'this page only'
  return sendsResolved ? `${where}, also its end` : where
}
