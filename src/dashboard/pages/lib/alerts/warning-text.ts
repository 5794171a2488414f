import { formatCount, formatMoment, formatRate, formatSpan } from '../format.js'
import { reasonsOf, timesOf } from '../incidents.js'
import type { Access, Warning } from '../wire.js'

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

const scopeNameOf = ({ location, network }: Warning, access: Access): string =>
  [nameOf(access.locations, location), nameOf(access.networks, network)]
    .filter(name => name !== '')
    .join(', ')

const nearLimit = (warning: Warning): WarningText => {
  const number = (name: string): number => numberOf(warning, name)
  const limit = String(warning.values['limit'])
  const used = `${formatRate(number('used'))} of ${formatCount(number('max'))}`
  return {
    title: `${number('percent')} % of a limit in use: ${used} ${LIMITS[limit] ?? limit}, on average over ${formatSpan(number('windowMs'))}.`,
    advice: ADVICE[limit] ?? '',
  }
}

const errors = (warning: Warning, access: Access): WarningText => {
  const number = (name: string): number => numberOf(warning, name)
  const part = `${formatCount(number('errors'))} of ${formatCount(number('requests'))} requests`
  return {
    title: `Errors are rising at ${scopeNameOf(warning, access)}: ${part} failed in ${formatSpan(number('windowMs'))} (${number('percent')} %, ${number('percentBefore')} % in the hour before).`,
    advice: 'See the message of the errors that your client receives, and the failed requests.',
  }
}

const slow = (warning: Warning): WarningText => {
  const number = (name: string): number => numberOf(warning, name)
  const { method } = warning.values
  const what = method === undefined ? '' : ` of ${method}`
  return {
    title: `The p99${what} was ${number('p99Ms')} ms in ${formatSpan(number('windowMs'))}, over ${formatCount(number('requests'))} calls: the threshold is ${number('threshold')} ms.`,
    advice: 'Compare the methods of the access, and ask for less data with each call.',
  }
}

const landing = (warning: Warning): WarningText => {
  const number = (name: string): number => numberOf(warning, name)
  return {
    title: `${number('percent')} % landed: ${formatCount(number('landed'))} of ${formatCount(number('submissions'))} submissions of the last ${formatSpan(number('windowMs'))}.`,
    advice: 'See the reasons in the tab Submissions, and compare tips and lanes.',
  }
}

const behind = (warning: Warning, access: Access, nowMs: number): WarningText => {
  const number = (name: string): number => numberOf(warning, name)
  const { states, endedAtMs } = warning.values
  const scope = scopeNameOf(warning, access)
  const advice = 'Use another location meanwhile, if your access has one.'
  if (states === undefined)
    return {
      title: `${scope} is ${formatCount(number('slotsBehind'))} slots behind the best location.`,
      advice,
    }
  const times = {
    startedAtMs: number('startedAtMs'),
    endedAtMs: endedAtMs === undefined ? null : Number(endedAtMs),
  }
  const reasons = reasonsOf({ reasons: String(states).split(', '), detail: '' })
  const verb = times.endedAtMs === null ? 'is' : 'was'
  return {
    title: `${scope} ${verb} degraded: ${reasons}, ${timesOf(times, nowMs)}.`,
    advice: times.endedAtMs === null ? advice : '',
  }
}

const ending = (warning: Warning, nowMs: number): WarningText => {
  const untilMs = numberOf(warning, 'validUntilMs')
  return {
    title: `This rental ends in ${formatSpan(untilMs - nowMs)}, on ${formatMoment(untilMs)}.`,
    advice: 'Extend it before then, or its tokens are refused (HTTP 403).',
  }
}

/** A warning in words. */
export const toWarningText = (warning: Warning, access: Access, nowMs: number): WarningText => {
  switch (warning.kind) {
    case 'limit-near':
      return nearLimit(warning)
    case 'errors-rising':
      return errors(warning, access)
    case 'p99-high':
      return slow(warning)
    case 'landing-rate-low':
      return landing(warning)
    case 'location-behind':
      return behind(warning, access, nowMs)
    case 'rental-ending':
      return ending(warning, nowMs)
  }
}
