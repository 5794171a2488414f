import type { AccessService } from '../../access/service.js'
import type { NewToken, TokenInfo } from '../../access/tokens/token-manager.js'
import { stateOf } from '../../access/accesses/access-manager.js'
import { toNewAccess, type Product } from '../../access/accesses/product.js'
import type { Access, TokenScope } from '../../access/store/tables.js'
import { RpcError } from '../../shared/errors.js'
import * as shapes from './admin-shapes.js'
import type { Catalog } from './catalog.js'
import { route, type Answer, type Route } from '../http/route.js'

/** What the admin API is made of. */
export type AdminParts = {
  readonly accessService: AccessService
  readonly catalog: Catalog
  readonly products: readonly Product[]
  readonly now: () => number
}

const ACCESS = '/admin/accesses/:accessId'
const TOKEN = `${ACCESS}/networks/:network/locations/:location/token` as const
const SCOPE_ERRORS = ['noSuchAccess', 'notOffered'] as const
const MAKE_ERRORS = [...SCOPE_ERRORS, 'accessEnded', 'accessUpcoming', 'sealingKey'] as const

const ok = (body: unknown): Answer => ({ status: 200, body })

const toTokenView = (token: TokenInfo) => ({
  network: token.network,
  location: token.location,
  tokenId: token.tokenId,
  tail: token.tail,
  createdAtMs: token.createdAtMs,
  address: token.address ?? null,
})

/**
 * Routes of the operator over every access of everybody: grant, extend and end, and what the
 * dashboard does.
 */
export const createAdminApi = (parts: AdminParts): readonly Route[] => {
  const { accessService, catalog, products, now } = parts
  const toView = (access: Access) => ({
    ...access,
    state: stateOf(access, now()),
    tokens: accessService.list(access.accessId).map(toTokenView),
  })
  const find = (accessId: string): Access => {
    const access = accessService.find(accessId)
    if (access === undefined) throw new RpcError('noSuchAccess')
    return access
  }
  const toSecretView = ({ location }: TokenScope, token: string) => {
    const { rpcOrigin = '', wsOrigin = '' } = catalog.location(location) ?? {}
    return { token, rpcUrl: `${rpcOrigin}/${token}`, wsUrl: `${wsOrigin}/${token}` }
  }
  const toNewView = (made: NewToken) => ({
    ...toTokenView(made),
    ...toSecretView(made, made.token.reveal()),
  })

  const ofAccesses: readonly Route[] = [
    route({
      method: 'POST',
      path: '/admin/accesses',
      guard: 'admin',
      summary: 'Grant an access of a product',
      body: shapes.grant,
      answers: { 201: { says: 'It holds from its begin on', body: shapes.access } },
      errors: ['wrongInput', 'noSuchProduct', 'notInProduct', 'nothingGranted', 'endPassed'],
      handle: async ({ body }) => {
        const access = await accessService.grant(toNewAccess(products, body, now()))
        return { status: 201, body: toView(access) }
      },
    }),
    route({
      method: 'GET',
      path: '/admin/accesses',
      guard: 'admin',
      summary: 'Accesses of one person, or those of everybody page by page',
      query: shapes.listQuery,
      answers: { 200: { says: 'In the order of their ids', body: shapes.accesses } },
      errors: ['wrongInput'],
      handle: ({ query: { subject, after, limit } }) => {
        if (subject !== undefined)
          return ok({ accesses: accessService.listOf(subject).map(toView), next: null })
        const accesses = accessService.page(after, limit)
        const last = accesses.length === limit ? accesses.at(-1) : undefined
        return ok({ accesses: accesses.map(toView), next: last?.accessId ?? null })
      },
    }),
    route({
      method: 'GET',
      path: ACCESS,
      guard: 'admin',
      summary: 'One access with its tokens',
      answers: { 200: { says: 'Without the tokens themselves', body: shapes.access } },
      errors: ['noSuchAccess'],
      handle: ({ params }) => ok(toView(find(params.accessId))),
    }),
    route({
      method: 'POST',
      path: `${ACCESS}/extend`,
      guard: 'admin',
      summary: 'Set the end of an access; tokens of one that had ended live again',
      body: shapes.extension,
      answers: { 200: { says: 'In effect', body: shapes.access } },
      errors: ['wrongInput', 'noSuchAccess', 'endPassed', 'notConfirmed'],
      handle: async ({ params, body }) =>
        ok(toView(await accessService.extend(params.accessId, body.validUntilMs))),
    }),
    route({
      method: 'POST',
      path: `${ACCESS}/end`,
      guard: 'admin',
      summary: 'End an access now; its tokens are kept and open nothing',
      answers: { 200: { says: 'In effect', body: shapes.access } },
      errors: ['noSuchAccess', 'notConfirmed'],
      handle: async ({ params }) => ok(toView(await accessService.end(params.accessId))),
    }),
  ]

  const ofTokens: readonly Route[] = [
    route({
      method: 'POST',
      path: TOKEN,
      guard: 'admin',
      summary: 'Generate the token of a scope that has none',
      answers: { 201: { says: 'It works from now on', body: shapes.newToken } },
      errors: [...MAKE_ERRORS, 'tokenActive'],
      handle: async ({ params }) => ({
        status: 201,
        body: toNewView(await accessService.generate(params)),
      }),
    }),
    route({
      method: 'POST',
      path: `${TOKEN}/regenerate`,
      guard: 'admin',
      summary: 'Replace the token; the one before is dead when this answers',
      answers: { 200: { says: 'The restriction stays', body: shapes.newToken } },
      errors: [...MAKE_ERRORS, 'noToken', 'notConfirmed'],
      handle: async ({ params }) => ok(toNewView(await accessService.regenerate(params))),
    }),
    route({
      method: 'DELETE',
      path: TOKEN,
      guard: 'admin',
      summary: 'Revoke the token; it is dead when this answers',
      answers: { 204: { says: 'Its restriction went with it' } },
      errors: [...SCOPE_ERRORS, 'noToken', 'notConfirmed'],
      handle: async ({ params }) => {
        await accessService.revoke(params)
        return { status: 204 }
      },
    }),
    route({
      method: 'POST',
      path: `${TOKEN}/reveal`,
      guard: 'admin',
      summary: 'Show the token itself',
      answers: { 200: { says: 'The token and its URLs', body: shapes.revealed } },
      errors: ['noSuchAccess', 'noToken', 'sealingKey'],
      handle: async ({ params }) => {
        find(params.accessId)
        const token = await accessService.reveal(params)
        if (token === undefined) throw new RpcError('noToken')
        return ok(toSecretView(params, token.reveal()))
      },
    }),
    route({
      method: 'PUT',
      path: `${TOKEN}/restriction`,
      guard: 'admin',
      summary: 'Limit the token to one public IPv4 address; blank lifts that',
      body: shapes.restriction,
      answers: { 200: { says: 'In effect', body: shapes.token } },
      errors: [...SCOPE_ERRORS, 'wrongInput', 'noToken', 'notPublicIpv4', 'notConfirmed'],
      handle: async ({ params, body }) =>
        ok(toTokenView(await accessService.restrict(params, body.address))),
    }),
  ]
  return [...ofAccesses, ...ofTokens]
}
