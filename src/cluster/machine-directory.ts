import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../shared/log.js'
import type { Etcd, KeyValue, WatchEvent } from './etcd/client.js'
import { BROKEN, type Keys } from './keys.js'
import type { Options } from './options.js'
import { readBeat, readMachine, type Beat, type Machine } from './values.js'

/** Machines, or beats, in one answer of etcd. */
const PAGE = 1_000

/** A machine of the cluster as another one knows it. */
export type KnownMachine = Machine & {
  readonly id: string
  /** Undefined where it has never run. */
  readonly beat: Beat | undefined
  /**
   * When the beat came, by the boot clock of this machine. Undefined of one that was found at the
   * start, because its age is not known.
   */
  readonly beatSeenMs: number | undefined
  /** Its last beat is so old that its lease must have ended. */
  readonly isUnreachable: boolean
}

export type MachineDirectoryParts = {
  readonly etcd: Etcd
  readonly keys: Keys
  readonly options: Pick<Options, 'leaseMs' | 'retryMs'>
  /** Milliseconds of the boot clock. */
  readonly bootMs: () => number
  readonly logger: Log
}

type SeenBeat = { readonly beat: Beat; readonly seenMs: number | undefined }

/** The machines of the cluster and what each last said of itself, followed in etcd. */
export class MachineDirectory {
  private readonly parts: MachineDirectoryParts
  private readonly machines = new Map<string, Machine>()
  private readonly beats = new Map<string, SeenBeat>()
  private readonly stopping = new AbortController()
  /** Ends the watch, not the directory. */
  private watching = new AbortController()
  private running = Promise.resolve()
  private startedMs = Infinity
  private receivedMs = -Infinity
  private isFailing = false
  private epoch: string | undefined
  private onFirst = (): void => {}
  private readonly first = new Promise<void>(resolve => (this.onFirst = resolve))

  constructor(parts: MachineDirectoryParts) {
    this.parts = parts
  }

  start(): void {
    this.startedMs = this.parts.bootMs()
    this.running = this.follow()
  }

  async stop(): Promise<void> {
    this.stopping.abort()
    this.watching.abort()
    await this.running
  }

  /** Resolves when the machines are known, or after `timeoutMs`. */
  async untilKnown(timeoutMs: number): Promise<void> {
    const timeout = new AbortController()
    await Promise.race([this.first, sleep(timeoutMs, undefined, timeout).catch(() => {})])
    timeout.abort()
  }

  /**
   * Whether etcd has sent anything within a lease. Machines beat all the time; if nothing comes, a
   * machine may have been removed meanwhile.
   */
  get isCurrent(): boolean {
    return this.parts.bootMs() - this.receivedMs < this.parts.options.leaseMs
  }

  /** etcd has lost changes: no machine can prove anything until the cluster is made again. */
  get isBroken(): boolean {
    return this.epoch === BROKEN
  }

  find(id: string): KnownMachine | undefined {
    const { bootMs, options } = this.parts
    const machine = this.machines.get(id)
    const seen = this.beats.get(id)
    if (machine === undefined) return undefined
    const sinceBeatMs = bootMs() - (seen?.seenMs ?? this.startedMs)
    const isUnreachable = seen === undefined || sinceBeatMs > options.leaseMs
    return { ...machine, id, beat: seen?.beat, beatSeenMs: seen?.seenMs, isUnreachable }
  }

  /** All of them, by their ids. */
  list(): readonly KnownMachine[] {
    return Array.from(this.machines.keys())
      .toSorted()
      .flatMap(id => this.find(id) ?? [])
  }

  private async follow(): Promise<void> {
    const { etcd, keys, logger, options } = this.parts
    const { signal } = this.stopping
    while (!signal.aborted) {
      this.watching = new AbortController()
      const { signal: watch } = this.watching
      const timer = setInterval(() => this.endStalledWatch(), options.leaseMs / 4)
      try {
        const next = (await this.readAll()) + 1
        for await (const events of etcd.watch(keys.beats, next, watch, keys.endOfMachines))
          this.apply(events)
      } catch (error) {
        if (!signal.aborted && !this.isFailing)
          logger.warn({ err: error }, 'the machines of the cluster cannot be followed')
        this.isFailing = true
      } finally {
        clearInterval(timer)
      }
      etcd.useNext()
      await sleep(options.retryMs, undefined, { signal }).catch(() => {})
    }
  }

  /** A member that lost the others sends nothing, and its connection stays. */
  private endStalledWatch(): void {
    const { bootMs, options } = this.parts
    if (bootMs() - this.receivedMs > options.leaseMs / 2) this.watching.abort()
  }

  /** Returns the revision as of which everything was read. */
  private async readAll(): Promise<number> {
    const { etcd, keys } = this.parts
    const machines = await etcd.list(keys.machines, { limit: PAGE })
    const { revision: atRevision } = machines
    const beats = await etcd.list(keys.beats, { limit: PAGE, atRevision })
    const epoch = await etcd.list(keys.epoch, { limit: 1, atRevision })
    this.epoch = epoch.found[0]?.value.toString()
    const former = new Map(this.beats)
    this.machines.clear()
    this.beats.clear()
    for (const one of machines.found) this.putMachine(one)
    for (const one of beats.found) {
      const id = one.key.slice(keys.beats.length)
      this.putBeat(id, one.value, former.get(id)?.seenMs)
    }
    this.onReceived()
    return atRevision
  }

  private apply(events: readonly WatchEvent[]): void {
    const { bootMs, keys } = this.parts
    for (const event of events) {
      const { key, isRemoved, value } = event
      if (key.startsWith(keys.beats)) {
        const id = key.slice(keys.beats.length)
        if (isRemoved) this.beats.delete(id)
        else this.putBeat(id, value, bootMs())
      } else if (key.startsWith(keys.machines)) {
        if (isRemoved) this.machines.delete(key.slice(keys.machines.length))
        else this.putMachine(event)
      } else if (key === keys.epoch) this.epoch = isRemoved ? undefined : value.toString()
    }
    this.onReceived()
  }

  private onReceived(): void {
    this.receivedMs = this.parts.bootMs()
    this.isFailing = false
    this.onFirst()
  }

  private putMachine({ key, value }: KeyValue): void {
    const machine = readMachine(value)
    if (machine !== undefined)
      this.machines.set(key.slice(this.parts.keys.machines.length), machine)
  }

  /** A beat that cannot be read is as none: a machine writes its own only. */
  private putBeat(id: string, value: Uint8Array, seenMs: number | undefined): void {
    const beat = readBeat(value)
    if (beat === undefined) this.beats.delete(id)
    else this.beats.set(id, { beat, seenMs })
  }
}
