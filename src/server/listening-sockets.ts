import { closeSync } from 'node:fs'
import { openDatagrams, openListener, routeDatagrams } from '../native/os.js'
import { describePort, nameOfAddress, probePort, type PortAddress } from './port.js'

const DATAGRAMS = 'udp '

/** Where sockets listen, and how many of them. */
export type ListeningAddress = PortAddress & {
  /** Each is for one process at a time; the kernel distributes connections among those of TCP. */
  readonly count: number
}

/**
 * Listening sockets that child processes inherit. They are open as long as this process has them,
 * so that connections wait while a child is replaced or restarted. Nothing is accepted here.
 */
export class ListeningSockets {
  /** Descriptors by address. */
  private readonly opened: Map<string, readonly number[]>

  /** `inherited` are open already, as `descriptors` answered them to another process. */
  constructor(inherited: Readonly<Record<string, readonly number[]>> = {}) {
    this.opened = new Map(Object.entries(inherited))
  }

  /** Every open descriptor, by address. */
  get descriptors(): Readonly<Record<string, readonly number[]>> {
    return Object.fromEntries(this.opened)
  }

  /**
   * Opens what is not open yet; answers a function that closes that again. Rejects with one line
   * where an address cannot be listened on, and has then opened nothing.
   */
  async open(addresses: readonly ListeningAddress[]): Promise<() => void> {
    const missing = addresses.filter(address => !this.opened.has(nameOfAddress(address)))
    for (const address of missing) await probePort(address)
    const undo = (): void => this.closeAll(missing.map(nameOfAddress))
    for (const address of missing) {
      const { host, port, count } = address
      const descriptors: number[] = []
      this.opened.set(nameOfAddress(address), descriptors)
      try {
        const open = address.protocol === 'udp' ? openDatagrams : openListener
        for (let index = 0; index < count; index++) descriptors.push(open(host, port))
      } catch {
        undo()
        throw new Error(describePort(address, undefined))
      }
    }
    return undo
  }

  /** The sockets of the process at a position, by `host:port`. */
  at(
    addresses: readonly Pick<ListeningAddress, 'host' | 'port' | 'protocol'>[],
    position: number,
  ): Readonly<Record<string, number>> {
    const found: Record<string, number> = {}
    for (const address of addresses) {
      const descriptor = this.opened.get(nameOfAddress(address))?.[position]
      if (descriptor !== undefined) found[nameOfAddress(address)] = descriptor
    }
    return found
  }

  /** Has packets of QUIC reach the edges that are there, by their slots. */
  route(slots: {
    readonly serving: readonly number[]
    readonly accepting: readonly number[]
  }): void {
    for (const [name, [descriptor]] of this.opened)
      if (name.startsWith(DATAGRAMS) && descriptor !== undefined) routeDatagrams(descriptor, slots)
  }

  /** Closes those of all other addresses. */
  keep(addresses: readonly ListeningAddress[]): void {
    const kept = new Set(addresses.map(nameOfAddress))
    this.closeAll([...this.opened.keys()].filter(name => !kept.has(name)))
  }

  private closeAll(names: readonly string[]): void {
    for (const name of names) {
      for (const descriptor of this.opened.get(name) ?? []) closeSync(descriptor)
      this.opened.delete(name)
    }
  }
}
