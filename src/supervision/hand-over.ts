import { fork } from 'node:child_process'
import type { Config } from '../config/config.js'
import type { ListeningSockets } from '../server/listening-sockets.js'
import type { Log } from '../shared/log.js'
import { Successor, TAKEOVER_VERSION, type TakeoverState } from './takeover.js'
import type { ServiceChildren } from './service-children.js'

/** The program of a successor, which may be a newer build at the same path. */
export type SuccessorProgram = {
  readonly module: string
  readonly args: readonly string[]
  /** With the secrets and the service manager, which this process removed from its own. */
  readonly environment: Readonly<Record<string, string | undefined>>
}

export type HandOverParts = {
  readonly config: Config
  /** Descriptor of the lock of the data directory. */
  readonly lock: number
  readonly children: ServiceChildren
  readonly sockets: ListeningSockets
  /** Descriptor of the listening socket of the metrics page. */
  readonly metrics: number | undefined
  /** Frees the slot of an edge of another supervisor, which has ended with it. */
  readonly freeSlot: (slot: number) => void
  /** The successor has every child: what this process alone has is to be closed. */
  readonly onFinish: (pid: number) => Promise<void>
  readonly log: Log
}

/** Of a child process: its standard streams and its channel. */
const STDIO = ['ignore', 'inherit', 'inherit', 'ipc'] as const

/** Starts a successor with the lock and the listening sockets of this process. */
export const startSuccessor = (
  parts: HandOverParts,
  { module, args, environment }: SuccessorProgram,
  request: TakeoverState['request'],
): Successor => {
  const { children, config, sockets } = parts
  const inherited: number[] = []
  /** Answers the number that a descriptor has in the successor. */
  const pass = (descriptor: number): number => STDIO.length + inherited.push(descriptor) - 1
  const lock = pass(parts.lock)
  const metrics = parts.metrics === undefined ? undefined : pass(parts.metrics)
  const listeners: Record<string, readonly number[]> = {}
  for (const [address, descriptors] of Object.entries(sockets.descriptors))
    listeners[address] = descriptors.map(pass)
  const child = fork(module, args, {
    stdio: [...STDIO, ...inherited],
    serialization: 'advanced',
    env: { ...environment },
  })
  const { startMs, drainMs } = config.processes
  return new Successor(
    child,
    {
      version: TAKEOVER_VERSION,
      config,
      lock,
      listeners,
      metrics,
      children: children.describe(),
      request,
    },
    {
      retire: name => children.retire(name, drainMs),
      restore: description =>
        children.restore(description, config).untilReady(startMs, new AbortController().signal),
      finish: () => parts.onFinish(child.pid ?? 0),
      send: (name, command) => {
        for (const own of children.all) if (own.name === name) own.send(command)
      },
    },
  )
}

/** Starts the children again that a successor had replaced, which has ended with its own. */
export const restoreMissing = (
  { children, config, freeSlot, log }: HandOverParts,
  before: TakeoverState['children'],
): void => {
  const names = new Set(children.serving.map(({ name }) => name))
  const free = children.freeSlots()
  for (const slot of free) freeSlot(slot)
  for (const child of before) {
    if (names.has(child.name)) continue
    log.warn({ process: child.name }, 'a process is started again, because the upgrade failed')
    const slot = child.place === undefined ? undefined : free.shift()
    const place = slot === undefined ? undefined : { position: child.place?.position ?? 0, slot }
    children.restore({ ...child, place }, config)
  }
}
