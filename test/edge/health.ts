import t from 'tap'
import { createLog } from '../../src/shared/log.js'
import type { Health } from '../../src/edge/health.js'
import { createEdgeRoutes } from '../../src/edge/rpc-routes.js'

t.test('the health of an edge has the lanes of the machine as numbers', async t => {
  const healthOf = (health: Health, lanes?: { up: number; down: number; throttled: number }) => {
    const log = createLog('test', () => {})
    const parts = { health: () => health, lanes: () => lanes, log }
    const routes = createEdgeRoutes(parts as unknown as Parameters<typeof createEdgeRoutes>[0])
    const { handle } = routes.find(({ pattern }) => pattern === '/health') ?? {}
    return (handle as (() => unknown) | undefined)?.()
  }
  const contentType = 'text/plain'
  t.strictSame(healthOf('ok'), { status: 200, contentType, body: 'ok' })
  t.strictSame(healthOf('behind', { up: 2, down: 1, throttled: 0 }), {
    ...{ status: 503, contentType, body: 'behind' },
    headers: { 'X-Lanes': 'up=2, down=1, throttled=0' },
  })
})
