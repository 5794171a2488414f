import { randomUUID } from 'node:crypto'
import {
  openQuicListener,
  type QuicClose,
  type QuicDialect,
  type QuicEvent,
  type QuicListener,
  type QuicStats,
} from '../../native/server/quic-listener.js'
import type { Log } from '../../shared/log.js'
import { formatAddress } from '../http/address.js'
import { defaults } from '../options.js'
import type { ListenerTls } from '../tls/certificate.js'
import { ListenerCertificates, type CertificateState } from '../tls/listener-certificates.js'

/** A client that has shown a token. */
export type QuicClient = {
  readonly address: string
  readonly token: string
  readonly wantsProtection: boolean
}

/** The status of an answer, as of HTTP, and a signature or a reason. */
export type QuicAnswer = { readonly status: number; readonly words: string }

/** A connection as its session sees it. */
export type QuicConnection = {
  /** UUID of this connection in log lines. Created at its first read. */
  readonly id: string
  readonly isClosed: boolean
  /** Closes it: nothing more leaves. */
  close(reason: QuicClose): void
  /** Takes no transaction until `resume`. */
  pause(): void
  resume(): void
}

/** One admitted client. */
export type QuicSession = {
  /** Whose share of connections and transactions it takes. */
  readonly accessId: string
  onOpen(connection: QuicConnection): void
  /** Answers a transaction, also of a client that does not read the answer. */
  onTransaction(bytes: Uint8Array): QuicAnswer | Promise<QuicAnswer>
  /** Called once for each session that was admitted. */
  onClose(): void
}

/** Admits a client, or says why not. */
export type OpenQuicSession = (client: QuicClient) => QuicSession | QuicClose

export type QuicServerParts = {
  /** A bound UDP socket. */
  readonly descriptor: number
  /** Of this edge, among those of the machine. */
  readonly slot: number
  readonly resetKey: Uint8Array
  /** Whose clients it takes, if not those of Lunar Lander. */
  readonly dialect?: QuicDialect | undefined
  readonly tls?: ListenerTls | undefined
  readonly open: OpenQuicSession
  readonly log: Log
}

const FAILED: QuicAnswer = { status: 500, words: 'internal error' }

class OpenConnection implements QuicConnection {
  readonly session: QuicSession
  isClosed = false
  private readonly listener: QuicListener
  private readonly connection: number
  private uuid: string | undefined

  constructor(listener: QuicListener, connection: number, session: QuicSession) {
    this.listener = listener
    this.connection = connection
    this.session = session
  }

  get id(): string {
    return (this.uuid ??= randomUUID())
  }

  close(reason: QuicClose): void {
    if (this.isClosed) return
    this.isClosed = true
    this.listener.closeConnection(this.connection, reason)
  }

  pause(): void {
    this.listener.pause(this.connection, true)
  }

  resume(): void {
    this.listener.pause(this.connection, false)
  }
}

/** Takes transactions over QUIC at one address. */
export class QuicServer {
  private readonly parts: QuicServerParts
  private readonly listener: QuicListener
  private readonly certificates: ListenerCertificates | undefined
  private readonly connections = new Map<number, OpenConnection>()
  private isClosed = false

  /** Throws if the certificate cannot be used. */
  constructor(parts: QuicServerParts) {
    this.parts = parts
    const { descriptor, dialect, log, resetKey, slot, tls } = parts
    const listener = openQuicListener({ descriptor, slot, resetKey, dialect })
    this.listener = listener
    this.certificates = tls && this.openCertificates(tls)
    this.receive().catch((error: unknown) => {
      log.error({ err: error }, 'the QUIC listener has failed')
      this.close()
    })
  }

  get port(): number {
    return this.listener.port
  }

  states(): readonly CertificateState[] {
    return this.certificates?.states ?? []
  }

  stats(): QuicStats | undefined {
    return this.isClosed ? undefined : this.listener.stats()
  }

  /** Takes no more connections, and closes each after its answers, or after `drainMs`. */
  async drain(drainMs: number): Promise<void> {
    if (this.isClosed) return
    const timer = setTimeout(() => this.close(), drainMs)
    // Closed meanwhile, it rejects.
    await this.listener.drain().catch(() => {})
    clearTimeout(timer)
    this.close()
  }

  close(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.certificates?.close()
    this.listener.close()
    for (const connection of this.connections.keys()) this.end(connection)
  }

  /** Of several certificates the first: clients name no host that they would verify. */
  private openCertificates({ certFile, keyFile }: ListenerTls): ListenerCertificates {
    const { listener, parts } = this
    try {
      return new ListenerCertificates(
        { certFile, keyFile },
        {
          log: parts.log,
          checkMs: defaults.certificateCheckSeconds * 1_000,
          set: (_index, certificate) => listener.useCertificate(certificate),
        },
      )
    } catch (error) {
      listener.close()
      throw error
    }
  }

  private async receive(): Promise<void> {
    for (;;) {
      const events = await this.listener.receive()
      if (events === undefined || this.isClosed) return
      for (const event of events) this.handle(event)
    }
  }

  /** No handler may end the loop. */
  private handle(event: QuicEvent): void {
    try {
      if (event.kind === 'connected') this.connect(event)
      else if (event.kind === 'transaction') this.submit(event)
      else this.end(event.connection)
    } catch (error) {
      this.parts.log.error({ err: error }, 'a connection could not be handled')
      if (event.kind === 'connected') this.listener.refuse(event.connection, 'unavailable')
    }
  }

  private connect({
    connection,
    address: bytes,
    token,
    wantsProtection,
  }: Extract<QuicEvent, { kind: 'connected' }>): void {
    const address = formatAddress(bytes)
    const session = this.parts.open({ address, token, wantsProtection })
    if (typeof session === 'string') return this.listener.refuse(connection, session)
    if (!this.listener.admit(connection, session.accessId)) return session.onClose()
    const opened = new OpenConnection(this.listener, connection, session)
    this.connections.set(connection, opened)
    session.onOpen(opened)
  }

  private submit({ connection, stream, bytes }: Extract<QuicEvent, { kind: 'transaction' }>): void {
    const opened = this.connections.get(connection)
    if (opened === undefined || opened.isClosed) return this.answer(stream, FAILED)
    let answer: QuicAnswer | Promise<QuicAnswer>
    try {
      answer = opened.session.onTransaction(bytes)
    } catch (error) {
      return this.fail(stream, error)
    }
    if (!(answer instanceof Promise)) return this.answer(stream, answer)
    answer.then(
      settled => this.answer(stream, settled),
      (error: unknown) => this.fail(stream, error),
    )
  }

  private fail(stream: number, error: unknown): void {
    this.parts.log.error({ err: error }, 'a transaction was not answered')
    this.answer(stream, FAILED)
  }

  private answer(stream: number, { status, words }: QuicAnswer): void {
    if (!this.isClosed) this.listener.answer(stream, status, words)
  }

  private end(connection: number): void {
    const opened = this.connections.get(connection)
    if (opened === undefined) return
    this.connections.delete(connection)
    opened.isClosed = true
    opened.session.onClose()
  }
}
