import * as addon from '#native'
import { callNative } from '../errors.js'

/** Why a connection is closed, in the words that clients show. */
export type QuicClose =
  'invalid_auth' | 'connection_limit' | 'unavailable' | 'protection_unavailable'

/** A listener in numbers; counts are since it was opened. */
export type QuicStats = Readonly<addon.QuicStats>

/** What has arrived. */
export type QuicEvent =
  | {
      readonly kind: 'connected'
      readonly connection: number
      /** 4 or 16 bytes. */
      readonly address: Uint8Array
      readonly token: string
      /** The client asks for protection from MEV. */
      readonly wantsProtection: boolean
    }
  | {
      readonly kind: 'transaction'
      readonly connection: number
      readonly stream: number
      readonly bytes: Uint8Array
    }
  /** An admitted connection has ended. */
  | { readonly kind: 'closed'; readonly connection: number }

/** The certificate of a listener, in PEM. */
export type QuicCertificate = { readonly chain: Uint8Array; readonly key: Uint8Array }

/** Senders whose clients a listener can take, as `native/ingress` names them. */
export type QuicDialect = 'lunar-lander' | 'nextblock' | 'node1' | 'glaive' | 'falcon'

export type QuicListenerOptions = {
  /** A bound UDP socket, which is copied. */
  readonly descriptor: number
  /** Of this edge, among those of the machine. */
  readonly slot: number
  /** The same for all edges of the machine. */
  readonly resetKey: Uint8Array
  /** Whose clients it takes; those of Lunar Lander where it is absent. */
  readonly dialect?: QuicDialect | undefined
  /** Without one, a self-signed certificate is made. */
  readonly certificate?: QuicCertificate | undefined
}

/** Takes transactions over QUIC, on a thread of its own. */
export type QuicListener = {
  readonly port: number
  /** The next events; undefined once it is closed. */
  receive(): Promise<readonly QuicEvent[] | undefined>
  /** False where the connection has ended, or is one too many of its access: it is closed then. */
  admit(connection: number, accessId: string): boolean
  /** Closes a connection that waits to be admitted. */
  refuse(connection: number, reason: QuicClose): void
  /** Closes an admitted connection. After it has returned, no answer leaves on it. */
  closeConnection(connection: number, reason: QuicClose): void
  /** Takes no stream of a connection, or takes them again. */
  pause(connection: number, isPaused: boolean): void
  /** Answers a transaction, once, also one on a stream that nobody reads. */
  answer(stream: number, status: number, words: string): void
  /** Uses another certificate for new connections. */
  useCertificate(certificate: QuicCertificate): void
  /** Takes no more connections; resolves when each has ended after its answers. */
  drain(): Promise<void>
  stats(): QuicStats
  /** Closes every connection. */
  close(): void
}

const toEvent = ({
  connection,
  address,
  token,
  wantsProtection = false,
  stream,
  bytes,
}: addon.QuicEvent): QuicEvent => {
  if (token !== undefined && address !== undefined)
    return { kind: 'connected', connection, address, token, wantsProtection }
  if (bytes !== undefined && stream !== undefined)
    return { kind: 'transaction', connection, stream, bytes }
  return { kind: 'closed', connection }
}

/** Throws if the certificate cannot be used. */
export const openQuicListener = ({
  certificate,
  dialect = 'lunar-lander',
  ...options
}: QuicListenerOptions): QuicListener => {
  const native = callNative(() => new addon.QuicListener({ ...options, dialect, ...certificate }))
  return {
    port: callNative(() => native.port()),
    receive: async () => (await callNative(() => native.receive()))?.map(toEvent),
    admit: (connection, accessId) => callNative(() => native.admit(connection, accessId)),
    refuse: (connection, reason) => callNative(() => native.refuse(connection, reason)),
    closeConnection: (connection, reason) =>
      callNative(() => native.closeConnection(connection, reason)),
    pause: (connection, isPaused) => callNative(() => native.pause(connection, isPaused)),
    answer: (stream, status, words) => callNative(() => native.answer(stream, status, words)),
    useCertificate: ({ chain, key }) => callNative(() => native.useCertificate(chain, key)),
    drain: () => callNative(() => native.drain()),
    stats: () => callNative(() => native.stats()),
    close: () => native.close(),
  }
}
