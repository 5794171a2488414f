import { chmodSync, renameSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import type { ForwardEvents } from '../lander/forwarder.js'
import type { RememberedTransaction } from '../lander/sent-transactions.js'
import type { LanderRecord } from '../lander/records.js'
import type { MayStart } from '../relay/relay-types.js'
import { NotBegun, type SendResult } from '../single-flight.js'
import type { Submission } from '../store/submission.js'
import { FrameReader, toFrame } from './frames.js'
import type {
  Answers,
  CallKind,
  Calls,
  ToEdge,
  ToPredecessor,
  ToSender,
  ToSuccessor,
} from './messages.js'

/** What the sender does for an edge. */
export type SenderHandlers = {
  bundle(of: Calls['bundle'], mayStart: MayStart): Promise<Answers['bundle']>
  statuses(of: Calls['statuses']): Promise<Answers['statuses']>
  find(of: Calls['find']): Promise<Answers['find']>
  forward(
    of: Calls['forward'],
    mayStart: MayStart,
    events: ForwardEvents,
  ): Promise<Answers['forward']>
  record(id: Uint8Array, submission: Submission): void
}

export type SenderServerOptions = {
  /** Where edges connect. It is replaced when the server is ready. */
  readonly path: string
  /** Longest message of an edge, in bytes. */
  readonly messageBytesMax: number
  readonly handlers: SenderHandlers
  /** Value of accessVersion, NaN once the lease has expired. */
  readonly version: () => number
  /** Bundles in flight, by key. */
  readonly inFlight: () => readonly (readonly [key: string, result: Promise<SendResult>])[]
  /** Another process takes over: it is told when that has ended. */
  readonly onSuccessor: () => Promise<void>
  /** It could not. */
  readonly onSuccessorLost: () => Promise<void>
  /** Transactions that were sent before. */
  readonly remembered: () => Iterable<RememberedTransaction>
  readonly onFault: (fault: unknown) => void
}

/** Transactions of one message to a successor, with at most 8 KiB of texts each. */
const REMEMBERED_COUNT = 64

/** What one edge has asked, and what of it waits for the edge. */
type Edge = {
  readonly socket: Socket
  readonly records: Map<number, LanderRecord>
  readonly rechecks: Map<number, (isEnded: boolean) => void>
}

/** Listens for edges, and hands over to a successor. */
export class SenderServer {
  private readonly options: SenderServerOptions
  private server: Server | undefined
  private readonly edges = new Set<Edge>()
  private successor: Socket | undefined
  private isDraining = false
  private callCount = 0
  private onIdle = (): void => {}

  constructor(options: SenderServerOptions) {
    this.options = options
  }

  /** Listens, in place of what listens at the path. */
  async listen(): Promise<void> {
    const { path } = this.options
    const draft = `${path}.${process.pid}`
    rmSync(draft, { force: true })
    const server = createServer(socket => this.onConnection(socket))
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(draft, resolve)
    })
    this.server = server
    // Who may write to it may submit.
    chmodSync(draft, 0o600)
    // At no time does nobody listen.
    renameSync(draft, path)
  }

  /** Whether this process begins what is new. */
  get isListening(): boolean {
    return this.server !== undefined
  }

  /** Resolves when every call is answered and recorded. New calls are declined. */
  async drain(): Promise<void> {
    this.isDraining = true
    this.retire()
    if (!this.isIdle)
      await new Promise<void>(resolve => {
        this.onIdle = resolve
      })
    // The last records are written in the turn after their answers.
    await new Promise(setImmediate)
  }

  /** Announces to edges that there are new events of these accesses. */
  tell(accessIds: readonly string[]): void {
    for (const edge of this.edges)
      if (edge.socket !== this.successor) send(edge, { kind: 'told', accessIds })
  }

  /** Ends every connection: what is not answered is lost. */
  close(): void {
    this.retire()
    for (const { socket } of this.edges) socket.destroySoon()
    this.successor?.destroySoon()
  }

  private get isIdle(): boolean {
    return this.callCount === 0 && [...this.edges].every(({ records }) => records.size === 0)
  }

  private reportIdle(): void {
    if (this.isDraining && this.isIdle) this.onIdle()
  }

  private retire(): void {
    if (this.server === undefined) return
    this.server.close()
    this.server = undefined
    for (const edge of this.edges) if (edge.socket !== this.successor) send(edge, { kind: 'moved' })
  }

  private onConnection(socket: Socket): void {
    const edge: Edge = { socket, records: new Map(), rechecks: new Map() }
    const { messageBytesMax, onFault } = this.options
    const reader = new FrameReader(messageBytesMax, message =>
      this.onMessage(edge, message as ToSender | ToPredecessor),
    )
    this.edges.add(edge)
    send(edge, { kind: 'open' })
    socket.on('data', chunk => {
      try {
        reader.push(chunk)
      } catch (fault) {
        onFault(fault)
        socket.destroy()
      }
    })
    // `close` follows.
    socket.on('error', () => {})
    socket.on('close', () => this.onClose(edge))
  }

  private onClose(edge: Edge): void {
    this.edges.delete(edge)
    for (const record of edge.records.values()) record.onChecked()
    for (const onRechecked of edge.rechecks.values()) onRechecked(true)
    this.reportIdle()
    if (this.successor !== edge.socket || this.isDraining) return
    // It could not take over.
    this.successor = undefined
    const { onFault, onSuccessorLost } = this.options
    Promise.all([this.listen(), onSuccessorLost()]).catch(onFault)
  }

  private onMessage(edge: Edge, message: ToSender | ToPredecessor): void {
    switch (message.kind) {
      case 'takeOver':
        return void this.handOver(edge).catch(this.options.onFault)
      case 'record':
        return this.options.handlers.record(message.id, message.submission)
      case 'checked': {
        edge.records.get(message.call)?.onChecked(message.known)
        edge.records.delete(message.call)
        return this.reportIdle()
      }
      case 'rechecked': {
        edge.rechecks.get(message.call)?.(message.isEnded)
        edge.rechecks.delete(message.call)
        return
      }
      default:
        return void this.answer(edge, message)
    }
  }

  private async answer(
    edge: Edge,
    message: Extract<ToSender, { readonly kind: CallKind }>,
  ): Promise<void> {
    const { call } = message
    // What is looked up is found here, too; nothing else is begun.
    if (!this.isListening && message.kind !== 'find') return send(edge, { kind: 'moved', call })
    this.callCount++
    try {
      send(edge, { kind: 'answer', call, answer: await this.run(edge, message) })
    } catch (fault) {
      if (fault instanceof NotBegun) return send(edge, { kind: 'moved', call })
      this.options.onFault(fault)
      send(edge, { kind: 'failed', call })
    } finally {
      this.callCount--
      this.reportIdle()
    }
  }

  private run(
    edge: Edge,
    message: Extract<ToSender, { readonly kind: CallKind }>,
  ): Promise<Answers[CallKind]> {
    const { handlers } = this.options
    const { call } = message
    const mayStart: MayStart = version =>
      this.options.version() === version || this.recheck(edge, call)
    switch (message.kind) {
      case 'bundle':
        return handlers.bundle(message.of, mayStart)
      case 'statuses':
        return handlers.statuses(message.of)
      case 'find':
        return handlers.find(message.of)
      case 'forward':
        return handlers.forward(message.of, mayStart, {
          onRecord: record => edge.records.set(call, record),
          onSent: () => send(edge, { kind: 'sent', call }),
        })
    }
  }

  /** Whether the access of a call still exists, as its edge says. */
  private recheck(edge: Edge, call: number): Promise<boolean> {
    if (edge.socket.destroyed) return Promise.resolve(false)
    return new Promise(resolve => {
      edge.rechecks.set(call, isEnded => resolve(!isEnded))
      send(edge, { kind: 'recheck', call })
    })
  }

  /** From now on the successor begins what is new, and knows what is in flight here. */
  private async handOver({ socket }: Edge): Promise<void> {
    this.successor = socket
    this.retire()
    await this.options.onSuccessor()
    const tell = (sent: readonly RememberedTransaction[]): void =>
      void socket.write(toFrame({ kind: 'remembered', sent } satisfies ToSuccessor))
    let some: RememberedTransaction[] = []
    for (const one of this.options.remembered()) {
      if (some.push(one) < REMEMBERED_COUNT) continue
      tell(some)
      some = []
    }
    if (some.length > 0) tell(some)
    const inFlight = this.options.inFlight()
    const keys = inFlight.map(([key]) => key)
    socket.write(toFrame({ kind: 'inFlight', keys } satisfies ToSuccessor))
    for (const [key, ended] of inFlight)
      void ended.then(result =>
        socket.write(toFrame({ kind: 'ended', key, result } satisfies ToSuccessor)),
      )
  }
}

const send = ({ socket }: Edge, message: ToEdge): void => {
  if (!socket.destroyed) socket.write(toFrame(message))
}
