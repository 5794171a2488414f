import type { AccessService } from '../../../access/service.js'
import type { AlertRule } from '../../../access/store/webhook-shape.js'
import { RpcError } from '../../../shared/errors.js'
import { ok, route, type Route } from '../../http/route.js'
import { KINDS } from '../../warnings/kinds.js'
import { CHANGE_ERRORS } from '../change-errors.js'
import { rulesOf } from '../warnings.js'
import * as shapes from './alert-shapes.js'

const PATH = '/api/accesses/:accessId/alerts'

type Parts = {
  readonly accessService: AccessService
  readonly webhooks: {
    of(accessId: string): readonly { readonly webhookId: string }[]
  }
  /** Makes the id of a rule. */
  readonly ruleId: () => string
}

/** Checks a number that a kind has, or has not. */
const checkRange = (
  value: number,
  range: { readonly min: number; readonly max: number } | undefined,
  wrong: (problem: string) => RpcError,
): number => {
  if (range === undefined) {
    if (value !== 0) throw wrong('must be 0: rules of this kind have none')
  } else if (value < range.min || value > range.max)
    throw wrong(`must be an integer from ${range.min} to ${range.max}`)
  return value
}

/** The rule with everything that its kind has. Throws an RpcError for what its kind forbids. */
const toRule = (
  wanted: shapes.WantedRule,
  index: number,
  known: ReadonlySet<string>,
  ruleId: () => string,
): AlertRule => {
  const { kind, method, onlyRising, webhooks } = wanted
  const { threshold, windows, countMin, hasMethod, canRise } = KINDS[kind]
  const wrong = (field: string) => (problem: string) =>
    new RpcError('wrongInput', { field: `body.rules.${index}.${field}`, problem })
  const windowMinutes = wanted.windowMinutes ?? windows?.[0] ?? 0
  if (windows === undefined) checkRange(windowMinutes, undefined, wrong('windowMinutes'))
  else if (!windows.includes(windowMinutes))
    throw wrong('windowMinutes')(`must be one of ${windows.join(', ')}`)
  if (method !== '' && hasMethod !== true)
    throw wrong('method')('must be empty: rules of this kind have none')
  if (onlyRising && canRise !== true)
    throw wrong('onlyRising')('must be false: rules of this kind look at no time before')
  if (webhooks?.some(id => !known.has(id)) === true)
    throw wrong('webhooks')('has an id of no webhook of this access')
  return {
    ...wanted,
    ruleId: wanted.ruleId ?? ruleId(),
    threshold: checkRange(wanted.threshold, threshold, wrong('threshold')),
    windowMinutes,
    countMin: checkRange(wanted.countMin ?? countMin?.default ?? 0, countMin, wrong('countMin')),
  }
}

/** Routes of the rules by which holders of accesses are alerted. */
export const createAlertRoutes = ({ accessService, webhooks, ruleId }: Parts): readonly Route[] => [
  route({
    method: 'GET',
    path: PATH,
    watchedMs: 2_000,
    guard: 'session',
    accessRole: 'view',
    apiKeyScope: 'alerts:manage',
    summary: 'The alert rules of an access',
    answers: {
      200: { description: 'Those of every access until some are set', body: shapes.rules },
    },
    handle: ({ access }) => ok({ rules: rulesOf(access) }),
  }),
  route({
    method: 'PUT',
    path: PATH,
    guard: 'session',
    accessRole: 'manage',
    apiKeyScope: 'alerts:manage',
    isRateLimited: true,
    summary: 'Replace the alert rules of an access; up to 32',
    audit: 'set-alerts',
    body: shapes.wantedRules,
    answers: { 200: { description: 'In effect with the next look', body: shapes.rules } },
    errors: CHANGE_ERRORS,
    handle: async ({ access: { accessId }, body }) => {
      const known = new Set(webhooks.of(accessId).map(({ webhookId }) => webhookId))
      const rules = body.rules.map((one, index) => toRule(one, index, known, ruleId))
      const twice = rules.findIndex(
        (one, index) => rules.findIndex(other => other.ruleId === one.ruleId) !== index,
      )
      if (twice >= 0)
        throw new RpcError('wrongInput', {
          field: `body.rules.${twice}.ruleId`,
          problem: 'is that of another rule',
        })
      return ok({ rules: rulesOf(await accessService.setAlertRules(accessId, rules)) })
    },
  }),
]
