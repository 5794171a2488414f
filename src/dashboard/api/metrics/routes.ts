import { RpcError } from '../../../shared/errors.js'
import { route, type Route } from '../../http/route.js'
import type { FiguresOf } from './figures.js'
import { formatAccessMetrics } from './format.js'

/** The route that Prometheus scrapes for an access. */
export const createMetricsRoute = ({ figures }: { readonly figures: FiguresOf }): Route =>
  route({
    method: 'GET',
    path: '/api/accesses/:accessId/metrics',
    guard: 'session',
    accessRole: 'view',
    apiKeyScope: 'usage:read',
    summary: "Usage of an access in Prometheus' text format",
    answers: {
      200: { description: 'Version 0.0.4; counters begin on Monday, 00:00 UTC, and never fall' },
    },
    errors: ['metricsIncomplete'],
    handle: async ({ access }) => {
      const found = await figures(access)
      // A counter that lacks a machine would fall, and count twice when it is back.
      if ((found.missing ?? []).length > 0) throw new RpcError('metricsIncomplete')
      return {
        status: 200,
        text: formatAccessMetrics(found),
        headers: { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' },
      }
    },
  })
