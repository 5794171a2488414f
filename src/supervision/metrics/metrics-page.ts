import { createServer, type ServerResponse } from 'node:http'
import { unproxiedHosts, isUnproxiedRequest } from '../../shared/unproxied-request.js'
import { createServerCloser } from '../../shared/http.js'
import type { Log } from '../../shared/log.js'
import { formatMetrics, type MetricsSnapshot } from '../../shared/metrics.js'

/** The page with the metrics of all processes. */
export type MetricsPage = {
  /** Waits for answers in progress. */
  close(): Promise<void>
}

export type MetricsPageParts = {
  readonly host: string
  /** Descriptor of a socket that listens; it is closed with the page. */
  readonly descriptor: number
  /** Further names in `Host` under which it is served. */
  readonly hosts: readonly string[]
  /** The metrics of every process, within `collectMs`. */
  readonly collect: () => Promise<readonly MetricsSnapshot[]>
  readonly collectMs: number
  readonly log: Log
}

/** Serves `GET /metrics` in the text format of Prometheus. */
export const openMetricsPage = async (parts: MetricsPageParts): Promise<MetricsPage> => {
  const { host, descriptor, collect, log } = parts
  const hosts = unproxiedHosts(host, parts.hosts)

  const answer = async (response: ServerResponse): Promise<void> => {
    try {
      const text = formatMetrics(await collect())
      response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' }).end(text)
    } catch (error) {
      log.error({ err: error }, 'the metrics page failed')
      response.writeHead(500).end()
    }
  }

  const server = createServer(({ method, url, headers }, response) => {
    const header = (name: string) => headers[name]?.toString()
    const isServed = method === 'GET' && url === '/metrics' && isUnproxiedRequest(header, hosts)
    if (isServed) void answer(response)
    else response.writeHead(404, { 'content-type': 'text/plain' }).end('Not found\n')
  })
  const close = createServerCloser(server)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ fd: descriptor }, resolve)
  })
  return { close: () => close(parts.collectMs) }
}
