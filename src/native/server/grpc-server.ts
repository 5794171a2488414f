import * as addon from '#native'
import { callNative } from '../errors.js'
import type { FeedOptions } from '../indexer.js'
import type { StoreOptions } from '../store.js'

/** Why a call is refused or a stream ends. */
export type GrpcRefusal =
  | 'unauthenticated'
  | 'address'
  | 'ended'
  | 'streams'
  | 'rate'
  /** Clients try again. */
  | 'unavailable'

/** A server in numbers; counts are since it was opened. */
export type GrpcStats = Readonly<addon.GrpcStats>

/** What has happened. */
export type GrpcEvent =
  /** A client waits for `admit` or `refuse`. */
  | {
      readonly kind: 'call'
      readonly call: number
      /** The listener that it came to, by its place in the options. */
      readonly listener: number
      /** 4 or 16 bytes. */
      readonly address: Uint8Array
      readonly token: string
      readonly method: string
      /** It is open until it ends; others are answered at once. */
      readonly isStream: boolean
    }
  /** A stream of the source of a network was not opened, or has ended. */
  | { readonly kind: 'source'; readonly network: number; readonly text: string }
  /** An admitted stream has ended. */
  | { readonly kind: 'ended'; readonly call: number }

/** A certificate in PEM, with those that it was issued by, and its key. */
export type GrpcCertificate = { readonly chain: Uint8Array; readonly key: Uint8Array }

export type GrpcServerOptions = {
  readonly listeners: readonly {
    /** A listening socket, which is copied. */
    readonly descriptor: number
    /** In the order of their precedence; none is no TLS. */
    readonly certificates: readonly GrpcCertificate[]
  }[]
  /** Of each network the servers of its source, in their order. */
  readonly networks: readonly (readonly FeedOptions[])[]
  readonly threads: number
  /** What `GetVersion` answers. */
  readonly version: string
  /** Of updates of one access; more waits. */
  readonly updateBytesPerSecond: number
}

/** Serves Yellowstone gRPC, on threads of its own. */
export type GrpcServer = {
  /** The next events; undefined once it is closed. */
  receive(): Promise<readonly GrpcEvent[] | undefined>
  /** False where the client has left: of its stream no end follows. */
  admit(
    call: number,
    to: { readonly network: number; readonly accessId: string; readonly filtersMax: number },
  ): boolean
  refuse(call: number, reason: GrpcRefusal): void
  /** Ends a stream. No update is made after this has returned. */
  closeStream(call: number, reason: GrpcRefusal): void
  /** Resolves when nothing but the end can leave on streams that were ended. */
  settle(): Promise<void>
  /** Serves the store in a folder as that of a network; streams of the one before end. */
  useStore(
    network: number,
    store: {
      readonly dir: string
      readonly options: StoreOptions
      /** What its feed takes of transactions, as `feed.transactions`. */
      readonly transactions: string
    },
  ): void
  /** Reads the tip of a network, and wakes its streams; undefined before the first block. */
  refresh(network: number): number | undefined
  useCertificate(listener: number, index: number, certificate: GrpcCertificate): void
  /** Accepts no more, and ends every stream; resolves when no connection is left. */
  drain(): Promise<void>
  stats(): GrpcStats
  /** Closes every connection. */
  close(): void
}

const toEvent = (event: addon.GrpcEvent): GrpcEvent => {
  const { address, call, isStream = false, listener = 0, method = '', network, text, token } = event
  if (network !== undefined && text !== undefined) return { kind: 'source', network, text }
  return token === undefined || address === undefined
    ? { kind: 'ended', call }
    : { kind: 'call', call, listener, address, token, method, isStream }
}

const copyOf = ({ chain, key }: GrpcCertificate): addon.GrpcCertificate => ({ chain, key })

/** Throws if a certificate cannot be used. */
export const openGrpcServer = ({
  listeners,
  networks,
  ...options
}: GrpcServerOptions): GrpcServer => {
  const given = listeners.map(({ certificates, descriptor }) => ({
    descriptor,
    certificates: certificates.map(copyOf),
  }))
  const servers = networks.map(of => [...of])
  const native = callNative(
    () => new addon.GrpcServer({ ...options, listeners: given, networks: servers }),
  )
  return {
    receive: async () => (await callNative(() => native.receive()))?.map(toEvent),
    admit: (call, { network, accessId, filtersMax }) =>
      callNative(() => native.admit(call, network, accessId, filtersMax)),
    refuse: (call, reason) => callNative(() => native.refuse(call, reason)),
    closeStream: (call, reason) => callNative(() => native.closeStream(call, reason)),
    settle: () => callNative(() => native.settle()),
    useStore: (network, { dir, options, transactions }) =>
      callNative(() => native.useStore(network, dir, options, transactions)),
    refresh: network => callNative(() => native.refresh(network)) || undefined,
    useCertificate: (listener, index, certificate) =>
      callNative(() => native.useCertificate(listener, index, copyOf(certificate))),
    drain: () => callNative(() => native.drain()),
    stats: () => callNative(() => native.stats()),
    close: () => native.close(),
  }
}
