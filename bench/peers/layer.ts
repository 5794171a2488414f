// The layers of the edge: the same request through one layer more at a time, for the cost of each.
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import uws from 'uWebSockets.js'
import { createAuthenticate } from '../../src/access/authenticate.js'
import { UsageLimiter } from '../../src/access/limiter/usage-limiter.js'
import { openLimitTable } from '../../src/access/limiter/limit-table.js'
import { openReader as openAccess } from '../../src/access/store/store.js'
import { openLiveCells } from '../../src/usage/live-cells.js'
import { createEdgeRoutes } from '../../src/edge/rpc-routes.js'
import type { ServedNetwork } from '../../src/edge/networks/network-view.js'
import { openServer } from '../../src/server/server.js'
import type { Reply, Route } from '../../src/shared/http.js'
import { openLog, type Log } from '../../src/shared/log.js'
import { openReader } from '../../src/native/reader.js'
import type { Reads } from '../../src/native/reads.js'
import { onStart } from '../child.js'
import type { Config } from '../../src/config/config.js'
import { NETWORK } from '../service/deployment.js'
import type { Layer } from './layers.js'
import { POOL_OPTIONS, READ_LIMITS, STORE_OPTIONS } from '../options.js'

export type Start = {
  readonly layer: Layer
  readonly config: Config
  readonly storeDir: string
  /** Reply of layers without native reads. */
  readonly reply: string
}

/** Where it answers. */
export type Listening = { readonly port: number }

const HOST = '127.0.0.1'

const listenBare = (answer: (body: Uint8Array) => Uint8Array): Promise<Listening> =>
  new Promise((resolve, reject) => {
    uws
      .App()
      .post('/*', response => {
        response.onAborted(() => {})
        response.onData((chunk, isLast) => {
          if (!isLast) return
          const body = new Uint8Array(chunk)
          response.writeHeader('content-type', 'application/json').end(answer(body))
        })
      })
      .listen(HOST, 0, socket => {
        if (socket === false) reject(new Error('cannot listen'))
        else resolve({ port: uws.us_socket_local_port(socket) })
      })
  })

const replyOf = (body: Uint8Array): Reply => ({
  status: 200,
  contentType: 'application/json',
  body,
})

/** The routes of the edge, with another end than `src/rpc`. */
const edgeRoutes = async (
  config: Config,
  log: Log,
  answer: (body: Uint8Array) => Uint8Array,
): Promise<readonly Route[]> => {
  const access = await openAccess(config.dataDir, config.access.store)
  // Apart from the edge's own: each counts alone.
  const dir = mkdtempSync(join(config.dataDir, 'layer-'))
  const table = openLimitTable(dir, 1, config.access.limits)
  const usage = openLiveCells(dir, 0, {
    options: config.access.usage,
    onFault: fault => log.error({ err: fault }, 'counts are not stored'),
  })
  const limiter = new UsageLimiter({ table, edgeIndex: 0, usage })
  const view: ServedNetwork = {
    dispatch: { handle: body => replyOf(answer(body)), refuse: () => '' },
  }
  return createEdgeRoutes({
    location: config.locations[0]?.id ?? '',
    bodyBytesMax: config.processes.bodyBytesMax,
    authenticate: createAuthenticate(access, () => 0, config.access.authenticate),
    version: () => 0,
    limiter,
    views: new Map([[NETWORK, view]]),
    now: Date.now,
    onRefusal: () => {},
    health: () => 'ok',
    lanes: () => undefined,
    log,
  })
}

const openRoute = (answer: (body: Uint8Array) => Uint8Array): Route => ({
  method: 'POST',
  pattern: '/:token',
  contentType: 'application/json',
  bodyBytesMax: 1024 ** 2,
  open: () => undefined,
  handle: (_, body) => replyOf(answer(body)),
})

const answerer =
  (reads: Reads) =>
  (body: Uint8Array): Uint8Array => {
    const reply = reads.fast(body)
    if (reply === undefined) throw new Error('the fast lane declined')
    return reply.bytes
  }

onStart<Start, Listening>(async ({ layer, config, storeDir, reply }) => {
  const bytes = Buffer.from(reply)
  const constant = () => bytes
  const reads = openReader(storeDir, STORE_OPTIONS, POOL_OPTIONS).reads(READ_LIMITS)
  if (layer === 'bare') return listenBare(constant)
  if (layer === 'bare + native reads') return listenBare(answerer(reads))
  const { log } = openLog('layer', config.log)
  const routes =
    layer === 'server'
      ? [openRoute(constant)]
      : await edgeRoutes(config, log, layer === 'server + access' ? constant : answerer(reads))
  const server = await openServer({
    routes,
    listeners: [{ host: HOST, port: 0 }],
    log,
    now: () => performance.now(),
    options: config.server,
  })
  return { port: server.ports[0] ?? 0 }
})
