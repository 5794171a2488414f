import { closeSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../../config/config.js'
import { metricsListener } from '../../config/listeners.js'
import { openListener } from '../../native/os.js'
import { probePort } from '../../server/port.js'
import type { Log } from '../../shared/log.js'
import type { Metrics, MetricsSnapshot } from '../../shared/metrics.js'
import { MetricsCollector } from './metrics-collector.js'
import { openMetricsPage, type MetricsPage } from './metrics-page.js'
import type { ServiceChildren } from '../service-children.js'

export type ServiceMetricsParts = {
  readonly children: Pick<ServiceChildren, 'serving'>
  /** Of the supervisor. */
  readonly metrics: Metrics
  readonly log: Log
}

/** A page at another address or under other names, with the descriptor of its socket. */
export type ChangedPage = { readonly page: MetricsPage; readonly socket: number }

/** The metrics page of the service. */
export class ServiceMetrics {
  private readonly parts: ServiceMetricsParts
  private readonly collector
  private config: Config
  private page: MetricsPage | undefined
  /** Of the socket that listens at the address of the configuration. */
  private socket: number | undefined

  /** The descriptor of a socket is that of another supervisor's page. */
  constructor(config: Config, parts: ServiceMetricsParts, inherited?: number) {
    this.config = config
    this.parts = parts
    this.socket = inherited
    this.collector = new MetricsCollector(parts.metrics, () => this.config.processes.metricsMs)
  }

  /** The descriptor of its socket, for a process that inherits it. */
  get descriptor(): number | undefined {
    return this.socket
  }

  /** Serves the page, unless it is served already. */
  async open(): Promise<void> {
    if (this.page !== undefined) return
    const { host, port } = this.config.metrics
    this.socket ??= openListener(host, port)
    this.page = await this.openPage(this.config, this.socket)
  }

  /** A second page, where another configuration changes it. */
  async openChanged(to: Config): Promise<ChangedPage | undefined> {
    const { metrics: former } = this.config
    const { host, port } = to.metrics
    if (isDeepStrictEqual(former, to.metrics)) return undefined
    if (host !== former.host || port !== former.port) await probePort(metricsListener(to))
    const socket = openListener(host, port)
    return { socket, page: await this.openPage(to, socket) }
  }

  /** Uses a configuration from now on, and the page that was opened for it. */
  use(config: Config, changed: ChangedPage | undefined): void {
    this.config = config
    if (changed === undefined) return
    if (this.page !== undefined) void this.page.close()
    else if (this.socket !== undefined) closeSync(this.socket)
    this.page = changed.page
    this.socket = changed.socket
  }

  onMetrics(call: number, snapshot: MetricsSnapshot): void {
    this.collector.onMetrics(call, snapshot)
  }

  async close(): Promise<void> {
    await this.page?.close()
  }

  private openPage({ metrics, processes }: Config, descriptor: number): Promise<MetricsPage> {
    const { host, hosts } = metrics
    return openMetricsPage({
      host,
      hosts,
      descriptor,
      collect: () => this.collector.collect(this.parts.children.serving),
      collectMs: processes.metricsMs,
      log: this.parts.log,
    })
  }
}
