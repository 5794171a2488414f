import type { AccessService } from '../../../access/service.js'
import { RpcError } from '../../../shared/errors.js'
import { ok, route, type Route } from '../../http/route.js'
import { CHANGE_ERRORS } from '../change-errors.js'
import { answerRemoval, removalAnswers } from '../effect.js'
import { toLabel } from '../overview/overview.js'
import * as shapes from './shapes.js'

const PATH = '/api/accesses/:accessId/keys'

/** Routes of the API keys of an access, which no API key may call. */
export const createKeyRoutes = ({
  accessService,
}: {
  readonly accessService: AccessService
}): readonly Route[] => [
  route({
    method: 'GET',
    path: PATH,
    watchedMs: 2_000,
    guard: 'session',
    accessRole: 'view',
    summary: 'The API keys of an access',
    answers: { 200: { description: 'Without their secrets', body: shapes.keys } },
    handle: ({ access }) => ok({ keys: accessService.keysOf(access.accessId) }),
  }),
  route({
    method: 'POST',
    path: PATH,
    guard: 'session',
    accessRole: 'manage',
    isRateLimited: true,
    needsRecentSignIn: true,
    summary: 'Make an API key',
    audit: 'make-api-key',
    auditRequest: (body, answer) => ({ ...Object(body), keyId: Object(answer).key?.keyId }),
    body: shapes.wanted,
    answers: { 201: { description: 'The key; its secret is not shown again', body: shapes.made } },
    errors: ['accessEnded', 'endPassed', 'apiKeyEnd', 'apiKeysFull', ...CHANGE_ERRORS],
    handle: async ({ access, body }) => {
      const label = toLabel(body.label)
      if (label === '')
        throw new RpcError('wrongInput', { field: 'body.label', problem: 'must not be blank' })
      const { secret, ...key } = await accessService.makeKey(access.accessId, { ...body, label })
      return { status: 201, body: { key, secret: secret.reveal() } }
    },
  }),
  route({
    method: 'DELETE',
    path: `${PATH}/:keyId`,
    guard: 'session',
    accessRole: 'manage',
    isRateLimited: true,
    summary: 'Revoke an API key; it is invalid when this is answered',
    audit: 'revoke-api-key',
    answers: removalAnswers('The key is removed'),
    errors: ['noSuchApiKey', ...CHANGE_ERRORS],
    handle: async ({ access, params }) => {
      const { effect } = await accessService.revokeKey(access.accessId, params.keyId)
      return answerRemoval(effect)
    },
  }),
]
