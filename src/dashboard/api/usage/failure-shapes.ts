import * as v from 'valibot'
import { FAILURE_ORIGINS } from '../../../usage/calls.js'
import { effectEntry } from '../effect-shape.js'
import { count, described, instantMs, missing, queryInteger, text } from '../shape-parts.js'
import { queriedTime, step } from './shapes.js'

/** Most failed requests in one response. */
const FAILURES_MAX = 1_000

const shortText = (charsMax: number, what: string) =>
  v.optional(v.pipe(v.string(), v.maxLength(charsMax, `must be ${what}`)), '')

const filters = {
  method: described(shortText(39, 'a method'), 'As it is listed'),
  code: described(
    v.optional(v.pipe(v.string(), v.regex(/^(-?\d{1,15})?$/, 'must be an integer')), ''),
    'Of the JSON-RPC error, or the status of the answer',
  ),
  location: described(shortText(64, 'a location'), 'Its id'),
  address: described(shortText(45, 'an address'), 'Of the client'),
  origin: described(
    v.optional(
      v.picklist(['', ...FAILURE_ORIGINS], `must be ${FAILURE_ORIGINS.join(', ')} or empty`),
      '',
    ),
    'Who refused it: the service, the upstream, or a limit of the access',
  ),
  from: described(v.optional(queriedTime), 'Unix milliseconds; absent: all that is kept'),
  until: described(v.optional(queriedTime), 'Unix milliseconds, exclusive; absent: now'),
  span: described(v.optional(queriedTime), 'Milliseconds before `until`, in place of `from`'),
  step: described(v.optional(step), 'With `span`: as for `usage/range`, so that both are equal'),
}

export const failuresQuery = v.strictObject({
  limit: v.optional(queryInteger(1, FAILURES_MAX), '100'),
  ...filters,
})

export const failuresExportQuery = v.strictObject({
  format: v.picklist(['csv', 'json'], 'must be csv or json'),
  ...filters,
})

const failedRequest = v.object({
  atMs: instantMs,
  network: text,
  location: text,
  method: text,
  code: described(v.number(), 'Of the JSON-RPC error, or the status of the answer'),
  text: described(text, 'The message, without values that the client sent where it is our own'),
  origin: described(
    v.picklist(FAILURE_ORIGINS),
    'Who refused it: `limit` is a limit of the access',
  ),
  address: text,
  request: described(
    text,
    'Id of the request; of a WebSocket or a QUIC connection, its id; empty if it is not known',
  ),
  bytes: described(v.nullable(count), 'Length of the whole request; null if it was not read'),
  elapsedMs: described(v.nullable(count), 'Null of a call that did not run'),
  slot: described(v.nullable(count), 'The newest slot that was served then; null of a submission'),
  params: described(text, 'The first 1,024 bytes as JSON; empty if parameters were not kept'),
})

export const failures = v.object({
  failures: v.pipe(v.array(failedRequest), v.readonly()),
  groups: described(
    v.pipe(
      v.array(
        v.object({
          method: text,
          code: v.number(),
          origin: v.picklist(FAILURE_ORIGINS),
          address: text,
          count,
          lastMs: instantMs,
        }),
      ),
      v.readonly(),
    ),
    'All that match and are kept, by method, code, origin and address, the most frequent first',
  ),
  leftOut: described(count, 'Failed requests of 24 hours that came faster than they are written'),
  paramsUntilMs: described(v.nullable(instantMs), 'Until when parameters are kept; null: not now'),
  missing,
})

/** What operators see: the parameters are the holder's, and all are empty. */
export const operatorFailures = v.object({
  ...failures.entries,
  failures: v.pipe(
    v.array(
      v.object({
        ...failedRequest.entries,
        params: v.pipe(
          text,
          v.transform(() => ''),
          v.description('Always empty'),
        ),
      }),
    ),
    v.readonly(),
  ),
})

export const paramsSwitch = v.strictObject({
  isOn: described(v.boolean('must be true or false'), 'True: for 24 hours from now'),
})
export const paramsState = v.object({ paramsUntilMs: v.nullable(instantMs), ...effectEntry })
