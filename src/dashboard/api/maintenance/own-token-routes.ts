import type { AdminTokens } from '../../../access/tokens/admin-tokens.js'
import { ok, route, type Route } from '../../http/route.js'
import * as shapes from './shapes.js'

/** Routes of the operator for the tokens of the admin API itself. */
export const createOwnTokenRoutes = (adminTokens: AdminTokens): readonly Route[] => [
  route({
    method: 'GET',
    path: '/admin/tokens',
    guard: 'admin',
    summary: 'The admin tokens of this machine, without their secrets',
    answers: { 200: { description: 'That of the file first', body: shapes.adminTokens } },
    handle: () => ok({ tokens: adminTokens.list() }),
  }),
  route({
    method: 'POST',
    path: '/admin/tokens',
    guard: 'admin',
    needsRole: 'owner',
    summary: 'Make an admin token; only the token of the file may',
    audit: 'make-admin-token',
    body: shapes.newAdminToken,
    answers: { 201: { description: 'Valid from now on', body: shapes.madeAdminToken } },
    errors: ['wrongInput', 'endPassed', 'adminTokenExists', 'adminTokensFull'],
    handle: async ({ body }) => {
      const { token, ...info } = await adminTokens.make(body)
      return { status: 201, body: { ...info, token: token.reveal() } }
    },
  }),
  route({
    method: 'POST',
    path: '/admin/tokens/file/renew',
    guard: 'admin',
    needsRole: 'owner',
    summary: 'Replace the token in access.adminTokenFile; the former one is invalid at once',
    audit: 'renew-admin-token',
    answers: { 204: { description: 'The file has the new token' } },
    handle: () => {
      adminTokens.renewFile()
      return { status: 204 }
    },
  }),
  route({
    method: 'DELETE',
    path: '/admin/tokens/:name',
    guard: 'admin',
    needsRole: 'owner',
    summary: 'End an admin token; it is invalid when this is answered',
    audit: 'end-admin-token',
    answers: { 204: { description: 'Invalid from now on' } },
    errors: ['noSuchAdminToken'],
    handle: async ({ params }) => {
      await adminTokens.end(params.name)
      return { status: 204 }
    },
  }),
]
