import { formatCount, formatMoment, formatRate, formatSpan } from './format.js'
import type { Access, Warning } from './wire.js'

const LIMITS: Readonly<Record<string, string>> = {
  requestsPerSecondMax: 'requests per second',
  requestsInFlightMax: 'requests in flight',
  socketsMax: 'open WebSockets',
  subscriptionsPerSocketMax: 'subscriptions on one WebSocket',
}

const ADVICE: Readonly<Record<string, string>> = {
  requestsPerSecondMax:
    'Send fewer requests, subscribe instead of polling, or ask for a larger limit.',
  requestsInFlightMax: 'Wait for answers before you send more, or ask for a larger limit.',
  socketsMax: 'Close WebSockets that you do not need, or ask for a larger limit.',
  subscriptionsPerSocketMax: 'Open a second WebSocket, or end subscriptions that you do not need.',
}

/** What has happened, and what to do. */
export type WarningText = { readonly title: string; readonly advice: string }

const numberOf = ({ values }: Warning, name: string): number => Number(values[name] ?? 0)

const nameOf = (named: Access['networks'], id: string | null): string =>
  named.find(one => one.id === id)?.name ?? id ?? ''

/** A warning in words. */
export const toWarningText = (warning: Warning, access: Access, nowMs: number): WarningText => {
  const { kind, location, network, values } = warning
  const number = (name: string): number => numberOf(warning, name)
  const span = formatSpan(number('windowMs'))
  if (kind === 'limit-near') {
    const limit = String(values['limit'])
    const used = `${formatRate(number('used'))} of ${formatCount(number('max'))}`
    return {
      title: `${number('percent')} % of a limit in use: ${used} ${LIMITS[limit] ?? limit}, on average over ${span}.`,
      advice: ADVICE[limit] ?? '',
    }
  }
  if (kind === 'errors-rising') {
    const place = `${nameOf(access.locations, location)}, ${nameOf(access.networks, network)}`
    const part = `${formatCount(number('errors'))} of ${formatCount(number('requests'))} requests`
    return {
      title: `Errors are rising at ${place}: ${part} failed in ${span} (${number('percent')} %, ${number('percentBefore')} % in the hour before).`,
      advice:
        'See the message of the errors that your client receives, and the failed requests of this access.',
    }
  }
  const untilMs = number('validUntilMs')
  return {
    title: `This rental ends in ${formatSpan(untilMs - nowMs)}, on ${formatMoment(untilMs)}.`,
    advice: 'Extend it before then, or its tokens are refused (HTTP 403).',
  }
}
