import type { AccessService } from '../../access/service.js'
import type { TokenScope } from '../../access/store/tables.js'
import type { NewToken, TokenInfo } from '../../access/tokens/token-manager.js'
import { RpcError } from '../../shared/errors.js'
import { ok, route, type Route } from '../http/route.js'
import { CHANGE_ERRORS } from './change-errors.js'
import * as shapes from './admin-shapes.js'
import { answerChange, answerRemoval, changeAnswers, removalAnswers } from './effect.js'
import type { Catalog } from './catalog.js'
import { urlsOf } from './views.js'

const TOKEN = '/admin/accesses/:accessId/networks/:network/locations/:location/token'
const SCOPE_ERRORS = ['noSuchAccess', 'notOffered'] as const
const MAKE_ERRORS = [...SCOPE_ERRORS, 'accessEnded', 'accessUpcoming', 'sealingKey'] as const

type Parts = { readonly accessService: AccessService; readonly catalog: Catalog }

/** A token as the admin API shows it. */
export const toTokenView = (token: TokenInfo) => ({
  network: token.network,
  location: token.location,
  tokenId: token.tokenId,
  tail: token.tail,
  createdAtMs: token.createdAtMs,
  address: token.address ?? null,
})

const toSecretView = (catalog: Catalog, scope: TokenScope, token: string) => ({
  token,
  ...urlsOf(catalog, scope, token),
})

const toNewView = (catalog: Catalog, made: NewToken) => ({
  ...toTokenView(made),
  ...toSecretView(catalog, made, made.token.reveal()),
})

/** Routes of the operator for the tokens of all accesses. */
export const createAdminTokenRoutes = ({ accessService, catalog }: Parts): readonly Route[] => [
  route({
    method: 'POST',
    path: TOKEN,
    guard: 'admin',
    summary: 'Generate a token',
    audit: 'generate',
    answers: { 201: { description: 'The token is active', body: shapes.newToken } },
    errors: [...MAKE_ERRORS, 'tokenActive', ...CHANGE_ERRORS],
    handle: async ({ params }) => ({
      status: 201,
      body: toNewView(catalog, await accessService.generate(params)),
    }),
  }),
  route({
    method: 'POST',
    path: `${TOKEN}/regenerate`,
    guard: 'admin',
    summary: 'Regenerate the token; the previous one is invalid when this is answered',
    audit: 'regenerate',
    answers: changeAnswers('The new token; the restriction is kept', shapes.changedToken),
    errors: [...MAKE_ERRORS, 'noToken', ...CHANGE_ERRORS],
    handle: async ({ params }) => {
      const made = await accessService.regenerate(params)
      return answerChange(toNewView(catalog, made), made.effect)
    },
  }),
  route({
    method: 'DELETE',
    path: TOKEN,
    guard: 'admin',
    summary: 'Revoke the token; it is invalid when this is answered',
    audit: 'revoke',
    answers: removalAnswers('The token and its restriction are removed'),
    errors: [...SCOPE_ERRORS, 'noToken', ...CHANGE_ERRORS],
    handle: async ({ params }) => answerRemoval((await accessService.revoke(params)).effect),
  }),
  route({
    method: 'POST',
    path: `${TOKEN}/reveal`,
    guard: 'admin',
    summary: 'Reveal the token',
    audit: 'reveal',
    answers: { 200: { description: 'The token and its URLs', body: shapes.revealed } },
    errors: ['noSuchAccess', 'noToken', 'sealingKey'],
    handle: async ({ params }) => {
      if (accessService.find(params.accessId) === undefined) throw new RpcError('noSuchAccess')
      const token = await accessService.reveal(params)
      if (token === undefined) throw new RpcError('noToken')
      return ok(toSecretView(catalog, params, token.reveal()))
    },
  }),
  route({
    method: 'PUT',
    path: `${TOKEN}/restriction`,
    guard: 'admin',
    summary: 'Restrict the token to one public IPv4 address; blank removes the restriction',
    audit: 'restrict',
    body: shapes.restriction,
    answers: changeAnswers('In effect', shapes.restrictedToken),
    errors: [...SCOPE_ERRORS, 'wrongInput', 'noToken', 'notPublicIpv4', ...CHANGE_ERRORS],
    handle: async ({ params, body }) => {
      const restricted = await accessService.restrict(params, body.address)
      return answerChange(toTokenView(restricted), restricted.effect)
    },
  }),
]
