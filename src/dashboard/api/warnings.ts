import { stateOf } from '../../access/accesses/access-manager.js'
import type { Access } from '../../access/store/tables.js'
import type { AlertRule } from '../../access/store/webhook-shape.js'
import { ok, route, type Route } from '../http/route.js'
import { DEFAULT_RULES } from '../warnings/kinds.js'
import type { Options } from '../warnings/options.js'
import { findWarnings, type Warning } from '../warnings/rules.js'
import type { IncidentView } from './incidents/incident-shapes.js'
import type { ListIncidents } from './incidents/incidents.js'
import * as limitShapes from './limit-shapes.js'
import type { Missing } from './answers.js'
import type { LocationView } from './shapes.js'
import type { EvidenceQuery, Usage } from './usage.js'

/** Present warnings of an access, from its usage on every machine. */
export type ReadWarnings = (
  access: Access,
) => Promise<{ readonly warnings: readonly Warning[] } & Missing>

/** How long the list of incidents is kept: they are looked for once a second. */
const KEPT_MS = 1_000
/** The time before that of a rule for errors which it may be compared with. */
const BEFORE_MINUTES = 60

/** The rules of an access. */
export const rulesOf = ({ alertRules }: Access): readonly AlertRule[] => alertRules ?? DEFAULT_RULES

/** What the rules that are on need: each length of time once. */
const toQuery = (rules: readonly AlertRule[], locations: readonly string[]): EvidenceQuery => {
  const windowsOf = (kind: string): readonly number[] => [
    ...new Set(
      rules.filter(rule => rule.isOn && rule.kind === kind).map(rule => rule.windowMinutes),
    ),
  ]
  const errors = windowsOf('errors-rising')
  return {
    locations,
    needsMeans: windowsOf('limit-near').length > 0,
    minutes: errors.length === 0 ? 0 : Math.max(...errors) + BEFORE_MINUTES,
    calls: windowsOf('p99-high'),
    landings: windowsOf('landing-rate-low'),
  }
}

export type WarningParts = {
  readonly usage: Pick<Usage, 'evidence'>
  readonly incidents: ListIncidents
  readonly locationStates: (ids: readonly string[]) => readonly LocationView[]
  readonly options: Options
  readonly now: () => number
}

/** Incidents that last or have just ended, read once for many accesses. */
const createRecentIncidents = ({ incidents, options, now }: WarningParts) => {
  let kept: { readonly atMs: number; readonly list: readonly IncidentView[] } | undefined
  return (locations: readonly string[]): readonly IncidentView[] => {
    if (kept === undefined || performance.now() - kept.atMs >= KEPT_MS) {
      const list = incidents({ limit: Infinity }).filter(
        ({ endedAtMs }) => endedAtMs === null || now() - endedAtMs < options.incidentEndedMs,
      )
      kept = { atMs: performance.now(), list }
    }
    return kept.list.filter(({ location }) => location !== null && locations.includes(location))
  }
}

export const createReadWarnings = (parts: WarningParts): ReadWarnings => {
  const { usage, locationStates, options, now } = parts
  const recentIncidents = createRecentIncidents(parts)
  return async access => {
    if (stateOf(access, now()) !== 'active') return { warnings: [] }
    const { accessId, locations, networks } = access
    const rules = rulesOf(access)
    const { missing, ...evidence } = await usage.evidence(accessId, toQuery(rules, locations))
    const looksBehind = rules.some(({ isOn, kind }) => isOn && kind === 'location-behind')
    const lags = (looksBehind ? locationStates(locations) : []).flatMap(({ id, slots }) =>
      slots
        .filter(({ network }) => networks.includes(network))
        .map(({ network, lag }) => ({ network, location: id, slots: lag })),
    )
    const watched = {
      access,
      ...evidence,
      incidents: looksBehind ? recentIncidents(locations) : [],
      lags,
    }
    const warnings = findWarnings(rules, watched, now(), options)
    return missing === undefined ? { warnings } : { warnings, missing }
  }
}

export const createWarningRoute = (readWarnings: ReadWarnings): Route =>
  route({
    method: 'GET',
    path: '/api/accesses/:accessId/warnings',
    watchedMs: 10_000,
    guard: 'session',
    accessRole: 'view',
    apiKeyScope: 'usage:read',
    operatorAnswer: limitShapes.warnings,
    summary: 'What the alert rules of an access find now',
    answers: { 200: { description: 'Empty if all is well', body: limitShapes.warnings } },
    handle: async ({ access }) => ok(await readWarnings(access)),
  })
