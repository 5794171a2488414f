import { stateOf } from '../../access/accesses/access-manager.js'
import type { Access } from '../../access/store/tables.js'
import { ok, route, type Route } from '../http/route.js'
import type { Options } from '../warnings/options.js'
import { findWarnings, type Warning } from '../warnings/rules.js'
import * as limitShapes from './limit-shapes.js'
import type { Missing } from './answers.js'
import type { Usage } from './usage.js'

/** Present warnings of an access, from its usage on every machine. */
export type ReadWarnings = (
  access: Access,
) => Promise<{ readonly warnings: readonly Warning[] } & Missing>

export const createReadWarnings =
  (usage: Usage, options: Options, now: () => number): ReadWarnings =>
  async access => {
    if (stateOf(access, now()) !== 'active') return { warnings: [] }
    const { accessId, locations, networks } = access
    const scopes = networks.flatMap(network => locations.map(location => ({ network, location })))
    const [{ means, missing: lacking }, ...found] = await Promise.all([
      usage.ofAccess(accessId, locations),
      ...scopes.map(async ({ network, location }) => {
        const { minutes, missing } = await usage.ofPlace({ accessId, network, location })
        return { network, location, minutes, missing }
      }),
    ])
    const warnings = findWarnings({ access, means, places: found }, now(), options)
    const missing = [
      ...new Set([lacking, ...found.map(one => one.missing)].flatMap(ids => ids ?? [])),
    ]
    return lacking === undefined ? { warnings } : { warnings, missing: missing.toSorted() }
  }

export const createWarningRoute = (readWarnings: ReadWarnings): Route =>
  route({
    method: 'GET',
    path: '/api/accesses/:accessId/warnings',
    guard: 'session',
    apiKeyScope: 'usage:read',
    summary: 'What the holder of an access should know now',
    answers: { 200: { description: 'Empty if all is well', body: limitShapes.warnings } },
    handle: async ({ access }) => ok(await readWarnings(access)),
  })
