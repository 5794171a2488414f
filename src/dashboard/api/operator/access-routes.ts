import * as v from 'valibot'
import type { AccessService } from '../../../access/service.js'
import { ok, route, type Route } from '../../http/route.js'
import type { Catalog } from '../catalog.js'
import type { MachineView } from '../shapes.js'
import { toAccessView } from '../views.js'
import * as shapes from './access-shapes.js'

type Parts = {
  readonly accessService: AccessService
  readonly catalog: Catalog
  readonly machines?: (() => readonly MachineView[]) | undefined
  readonly now: () => number
}

const HOLDER = '/api/accesses/'
const OPERATOR = '/api/operator/accesses/'

/**
 * What operators see of a route of an access; nothing of one that does not declare it. Only what
 * its schema has is answered: a part that the holder's answer gains is not shown by itself.
 */
const toOperatorRoutes = (from: Route): readonly Route[] => {
  const { accessRole, apiKeyScope: _scope, operatorAnswer, ...rest } = from
  if (operatorAnswer === undefined) return []
  const { errors, guard, method, path, summary } = from
  const isRead = method === 'GET' && guard === 'session' && accessRole === 'view'
  if (!isRead || !path.startsWith(HOLDER)) throw new Error(`${path} is not for operators`)
  return [
    {
      ...rest,
      path: OPERATOR + path.slice(HOLDER.length),
      summary: `${summary}; of any access`,
      needsOperator: true,
      errors: [...errors.filter(name => name !== 'leaseExpired'), 'notOperator'],
      answers: { 200: { description: 'As the holder has it', body: operatorAnswer } },
      run: async call => ok(v.parse(operatorAnswer, (await from.run(call)).body)),
    },
  ]
}

/** An access as its holder sees it, without secrets, for operators: from the holder's routes. */
export const createOperatorAccessRoutes = (
  parts: Parts,
  holderRoutes: readonly Route[],
): readonly Route[] => [
  route({
    method: 'GET',
    path: '/api/operator/accesses/:accessId',
    guard: 'session',
    needsOperator: true,
    summary: 'An access of any person as they see it',
    answers: { 200: { description: 'Without its tokens', body: shapes.access } },
    handle: ({ access }) => {
      const { label, subject } = access
      const shown = toAccessView(parts, { access, role: 'view' }, parts.now())
      return ok({ access: shown, subject, label, hasMachines: parts.machines !== undefined })
    },
  }),
  ...holderRoutes.flatMap(toOperatorRoutes),
]
