import { createServer, type ServerResponse } from 'node:http'
import { directHosts, isDirectRequest } from '../shared/direct-request.js'
import type { Log } from '../shared/log.js'
import { formatMetrics, type Metrics, type MetricsSnapshot } from '../shared/metrics.js'

/** The page with the metrics of all processes. */
export type MetricsPage = {
  /** Passes on the snapshots of the other processes that `request` asked for. */
  onCollected(call: number, snapshots: readonly MetricsSnapshot[]): void
  close(): void
}

export type MetricsPageParts = {
  readonly host: string
  readonly port: number
  /** Further names in `Host` under which it is served. */
  readonly hosts: readonly string[]
  /** Metrics of this process. */
  readonly metrics: Metrics
  /** Asks for the snapshots of the other processes, under this number. */
  readonly request: (call: number) => void
  readonly log: Log
}

/** Serves `GET /metrics` in the text format of Prometheus. */
export const openMetricsPage = async (parts: MetricsPageParts): Promise<MetricsPage> => {
  const { host, port, metrics, request, log } = parts
  const hosts = directHosts(host, parts.hosts)
  const pending = new Map<number, (snapshots: readonly MetricsSnapshot[]) => void>()
  let nextCall = 1

  const collect = (): Promise<readonly MetricsSnapshot[]> =>
    new Promise(resolve => {
      const call = nextCall++
      pending.set(call, resolve)
      request(call)
    })

  const answer = async (response: ServerResponse): Promise<void> => {
    try {
      const [others, own] = await Promise.all([collect(), metrics.snapshot()])
      const text = formatMetrics([...others, own])
      response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' }).end(text)
    } catch (error) {
      log.error({ err: error }, 'the metrics page failed')
      response.writeHead(500).end()
    }
  }

  const server = createServer(({ method, url, headers }, response) => {
    const header = (name: string) => headers[name]?.toString()
    const isServed = method === 'GET' && url === '/metrics' && isDirectRequest(header, hosts)
    if (isServed) void answer(response)
    else response.writeHead(404, { 'content-type': 'text/plain' }).end('Not found\n')
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  return {
    onCollected: (call, snapshots) => {
      pending.get(call)?.(snapshots)
      pending.delete(call)
    },
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
