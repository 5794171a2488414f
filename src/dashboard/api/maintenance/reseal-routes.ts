import type { Resealer } from '../../../access/tokens/resealer.js'
import { ok, route, type Route } from '../../http/route.js'
import * as shapes from './shapes.js'

/** Routes of the operator for the key that seals tokens and webhooks. */
export const createResealRoutes = (resealer: Resealer): readonly Route[] => [
  route({
    method: 'GET',
    path: '/admin/sealing',
    guard: 'admin',
    summary: 'The sealing key by its fingerprint, and how far everything is sealed with it',
    answers: { 200: { description: 'No key is in it', body: shapes.resealState } },
    errors: ['sealingKey'],
    handle: () => ok(resealer.state()),
  }),
  route({
    method: 'POST',
    path: '/admin/sealing/reseal',
    guard: 'admin',
    summary:
      'Make a new sealing key and seal everything with it; continues one that was interrupted',
    audit: 'reseal',
    answers: { 202: { description: 'It runs', body: shapes.resealState } },
    errors: ['sealingKey', 'resealInCluster', 'changeUnknown'],
    handle: async () => {
      await resealer.start()
      return { status: 202, body: resealer.state() }
    },
  }),
]
