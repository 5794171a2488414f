import type { AccessService } from '../../access/service.js'
import { RpcError } from '../../shared/errors.js'
import { ok, route, type Route } from '../http/route.js'
import { CHANGE_ERRORS } from './change-errors.js'
import { answerChange, answerRemoval, changeAnswers, removalAnswers } from './effect.js'
import type { Catalog } from './catalog.js'
import type { CheckUrl } from './check.js'
import { toScope, findToken } from './own-access.js'
import * as shapes from './shapes.js'
import { toNewPanel, toPanel, urlsOf } from './views.js'

const SCOPE = '/api/accesses/:accessId/networks/:network/locations/:location'
const SCOPE_ERRORS = ['notOffered'] as const

type Parts = {
  readonly accessService: AccessService
  readonly catalog: Catalog
  readonly checkUrl: CheckUrl
}

const secretRoutes = ({ accessService, catalog }: Parts): readonly Route[] => [
  route({
    method: 'POST',
    path: `${SCOPE}/token`,
    guard: 'session',
    accessRole: 'manage',
    isRateLimited: true,
    summary: 'Generate a token',
    audit: 'generate',
    answers: { 201: { description: 'The token is active', body: shapes.newToken } },
    errors: [
      ...SCOPE_ERRORS,
      'accessEnded',
      'accessUpcoming',
      'tokenActive',
      'sealingKey',
      ...CHANGE_ERRORS,
    ],
    handle: async ({ access, params }) => {
      const made = await accessService.generate(toScope(access, params))
      return { status: 201, body: toNewPanel(catalog, made) }
    },
  }),
  route({
    method: 'POST',
    path: `${SCOPE}/token/regenerate`,
    guard: 'session',
    accessRole: 'manage',
    apiKeyScope: 'token:regenerate',
    isRateLimited: true,
    needsRecentSignIn: true,
    summary: 'Regenerate the token; the former one is invalid when this is answered, or when asked',
    audit: 'regenerate',
    body: shapes.regeneration,
    answers: changeAnswers('The new token; the restriction is kept', shapes.changedToken),
    errors: [
      ...SCOPE_ERRORS,
      'accessEnded',
      'accessUpcoming',
      'noToken',
      'sealingKey',
      'wrongInput',
      ...CHANGE_ERRORS,
    ],
    handle: async ({ access, params, body }) => {
      const scope = toScope(access, params)
      const made = await accessService.regenerate(scope, body.overlapSeconds * 1_000)
      return answerChange(toNewPanel(catalog, made), made.effect)
    },
  }),
  route({
    method: 'POST',
    path: `${SCOPE}/token/reveal`,
    guard: 'session',
    accessRole: 'manage',
    isRateLimited: true,
    needsRecentSignIn: true,
    summary: 'Reveal the token',
    audit: 'reveal',
    answers: { 200: { description: 'The token and its URLs', body: shapes.revealed } },
    errors: [...SCOPE_ERRORS, 'noToken', 'sealingKey'],
    handle: async ({ access, params }) => {
      const scope = toScope(access, params)
      const token = (await accessService.reveal(scope))?.reveal()
      if (token === undefined) throw new RpcError('noToken')
      return ok({ token, ...urlsOf(catalog, scope, token) })
    },
  }),
]

const checkRoute = ({ accessService, catalog, checkUrl }: Parts): Route =>
  route({
    method: 'POST',
    path: `${SCOPE}/token/check`,
    guard: 'session',
    accessRole: 'manage',
    isRateLimited: true,
    summary: 'Call the location with the token, from the service, without revealing it',
    answers: { 200: { description: 'What the location answered', body: shapes.checked } },
    errors: [...SCOPE_ERRORS, 'noToken', 'sealingKey'],
    handle: async ({ access, params }) => {
      const scope = toScope(access, params)
      const token = (await accessService.reveal(scope))?.reveal()
      if (token === undefined) throw new RpcError('noToken')
      return ok(await checkUrl(urlsOf(catalog, scope, token).rpcUrl))
    },
  })

/** Routes of the location tokens of the signed-in user. */
export const createTokenRoutes = (parts: Parts): readonly Route[] => {
  const { accessService, catalog } = parts
  return [
    route({
      method: 'GET',
      path: SCOPE,
      guard: 'session',
      accessRole: 'view',
      summary: 'The token of a network and location, masked',
      answers: { 200: { description: 'The token, or null', body: shapes.panel } },
      errors: SCOPE_ERRORS,
      handle: ({ access, params }) => {
        const info = findToken(accessService, toScope(access, params))
        return ok(info === undefined ? { token: null } : toPanel(catalog, info))
      },
    }),
    route({
      method: 'DELETE',
      path: `${SCOPE}/token`,
      guard: 'session',
      accessRole: 'manage',
      isRateLimited: true,
      summary: 'Revoke the token; it is invalid when this is answered',
      audit: 'revoke',
      answers: removalAnswers('The token and its restriction are removed'),
      errors: [...SCOPE_ERRORS, 'noToken', ...CHANGE_ERRORS],
      handle: async ({ access, params }) => {
        const scope = toScope(access, params)
        return answerRemoval((await accessService.revoke(scope)).effect)
      },
    }),
    route({
      method: 'DELETE',
      path: `${SCOPE}/token/former`,
      guard: 'session',
      accessRole: 'manage',
      apiKeyScope: 'token:regenerate',
      isRateLimited: true,
      summary: 'End the former token that still works; it is invalid when this is answered',
      audit: 'end-former',
      answers: changeAnswers('The token that stays', shapes.restrictedPanel),
      errors: [...SCOPE_ERRORS, 'noToken', ...CHANGE_ERRORS],
      handle: async ({ access, params }) => {
        const scope = toScope(access, params)
        const { effect, ...info } = await accessService.endFormer(scope)
        return answerChange(toPanel(catalog, info), effect)
      },
    }),
    route({
      method: 'PUT',
      path: `${SCOPE}/token/restriction`,
      guard: 'session',
      accessRole: 'manage',
      apiKeyScope: 'token:restrict',
      isRateLimited: true,
      summary: 'Restrict the token to one public IPv4 address; blank removes the restriction',
      audit: 'restrict',
      body: shapes.restriction,
      answers: changeAnswers('In effect', shapes.restrictedPanel),
      errors: [...SCOPE_ERRORS, 'noToken', 'notPublicIpv4', ...CHANGE_ERRORS],
      handle: async ({ access, params, body }) => {
        const scope = toScope(access, params)
        const restricted = await accessService.restrict(scope, body.address)
        return answerChange(toPanel(catalog, restricted), restricted.effect)
      },
    }),
    ...secretRoutes(parts),
    checkRoute(parts),
  ]
}
