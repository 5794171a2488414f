import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { createServerCloser } from '../../shared/http.js'
import { createApp, type AppParts } from './app.js'

/** A running dashboard. */
export type Dashboard = {
  readonly port: number
  /** Accepts no more connections, waits `drainMs` for requests in flight, and closes the rest. */
  close(): Promise<void>
}

export type ServerOptions = AppParts['options'] & {
  readonly host: string
  readonly port: number
  readonly connectionsMax: number
  readonly headerBytesMax: number
  readonly requestMs: number
  readonly idleMs: number
  readonly drainMs: number
}

/** How often Node checks for requests over their time limit. */
const CHECK_MS = 1_000

/** Serves the page, the sign-in, the API and the admin API on one port. */
export const openDashboard = async (
  parts: AppParts & {
    readonly options: ServerOptions
    /** An inherited socket that listens at this address; what waits in its queue outlives it. */
    readonly descriptor?: number | undefined
  },
): Promise<Dashboard> => {
  const { descriptor, options } = parts
  const server = createAdaptorServer({
    fetch: createApp(parts).fetch,
    serverOptions: {
      maxHeaderSize: options.headerBytesMax,
      headersTimeout: options.requestMs,
      requestTimeout: options.requestMs,
      keepAliveTimeout: options.idleMs,
      connectionsCheckingInterval: CHECK_MS,
    },
  }) as Server
  const close = createServerCloser(server)
  server.maxConnections = options.connectionsMax
  server.setTimeout(options.idleMs)
  if (descriptor === undefined) server.listen(options.port, options.host)
  else server.listen({ fd: descriptor })
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { port, close: () => close(options.drainMs) }
}
