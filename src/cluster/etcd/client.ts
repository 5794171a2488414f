import { isIP } from 'node:net'
import { checkServerIdentity, type PeerCertificate } from 'node:tls'
import {
  Client,
  credentials,
  status,
  type ClientDuplexStream,
  type ServiceError,
} from '@grpc/grpc-js'
import { fromJSON, type MethodDefinition, type ServiceDefinition } from '@grpc/proto-loader'
import { PROTOCOL } from './protocol.js'

/** Certificates of a client of etcd, in PEM. */
export type Identity = {
  readonly ca: Buffer
  readonly cert: Buffer
  readonly key: Buffer
}

export type EtcdOptions = {
  /** `https://host:port` of each member. */
  readonly endpoints: readonly string[]
  readonly identity: Identity
  /** Longest wait for an answer. */
  readonly callMs: number
}

/** A key as it was stored. */
export type KeyValue = {
  readonly key: string
  readonly value: Buffer
  readonly createRevision: number
  readonly modRevision: number
}

/** What a transaction compares; a key that is absent has the revisions 0. */
export type Comparison =
  | { readonly key: string; readonly createRevision: number }
  | { readonly key: string; readonly modRevision: number }
  | { readonly key: string; readonly value: string }

export type Operation =
  | { readonly put: string; readonly value: Buffer | string }
  | { readonly remove: string }
  | { readonly get: string }

export type WatchEvent = KeyValue & { readonly isRemoved: boolean }

/**
 * A call that failed. `isUnknown` where its change may have been made, `code` by the
 * protocol of gRPC.
 */
export class EtcdError extends Error {
  override readonly name = 'EtcdError'
  readonly code: number

  constructor(code: number, message: string) {
    super(`etcd: ${message}`)
    this.code = code
  }

  get isUnknown(): boolean {
    return [
      status.UNAVAILABLE,
      status.DEADLINE_EXCEEDED,
      status.CANCELLED,
      status.UNKNOWN,
    ].includes(this.code)
  }

  get isDenied(): boolean {
    return this.code === status.PERMISSION_DENIED
  }
}

/** The revisions that a watch needs have been compacted: everything must be read again. */
export class CompactedError extends Error {
  override readonly name = 'CompactedError'
}

type RawKeyValue = {
  readonly key: string
  readonly value: Buffer
  readonly create_revision: number
  readonly mod_revision: number
}
type RawHeader = { readonly revision: number }
type RawRange = {
  readonly header: RawHeader
  readonly kvs: readonly RawKeyValue[]
  readonly more: boolean
}
type RawTxn = {
  readonly header: RawHeader
  readonly succeeded: boolean
  readonly responses: readonly { readonly response_range?: RawRange | null }[]
}
type RawWatch = {
  readonly canceled: boolean
  readonly compact_revision: number
  readonly cancel_reason: string
  readonly events: readonly { readonly type: number; readonly kv: RawKeyValue }[]
}

const definitions = fromJSON(PROTOCOL, {
  keepCase: true,
  longs: Number,
  defaults: true,
  arrays: true,
})

const methodOf = (service: string, name: string): MethodDefinition<object, object> => {
  const methods = definitions[`etcdserverpb.${service}`] as ServiceDefinition | undefined
  const method = methods?.[name]
  if (method === undefined) throw new Error(`etcd: no method ${service}.${name}`)
  return method
}

const toKeyValue = (raw: RawKeyValue): KeyValue => ({
  key: raw.key,
  value: raw.value,
  createRevision: raw.create_revision,
  modRevision: raw.mod_revision,
})

// Numbers of the protocol.
const EQUAL = 0
const [CREATE, MOD, VALUE] = [1, 2, 3]
const DELETION = 1

const toCompare = (comparison: Comparison): object => {
  const { key } = comparison
  if ('value' in comparison)
    return { result: EQUAL, target: VALUE, key, value: Buffer.from(comparison.value) }
  if ('modRevision' in comparison)
    return { result: EQUAL, target: MOD, key, mod_revision: comparison.modRevision }
  return { result: EQUAL, target: CREATE, key, create_revision: comparison.createRevision }
}

const toOperation = (operation: Operation): object => {
  if ('put' in operation)
    return { request_put: { key: operation.put, value: Buffer.from(operation.value) } }
  if ('remove' in operation) return { request_delete_range: { key: operation.remove } }
  return { request_range: { key: operation.get } }
}

/** The first key after all that begin with a prefix, which ends with an ASCII character. */
export const endOfPrefix = (prefix: string): string =>
  prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1)

const CHANNEL_OPTIONS = {
  // A member that stopped or lost its network is noticed although a watch has nothing to say. etcd
  // refuses more than one ping in 5 s.
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 3_000,
  'grpc.max_receive_message_length': 32 * 1024 ** 2,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
}

/** A name that no server looks at; see below. */
const NO_NAME = 'etcd'

const openClient = (endpoint: string, { ca, cert, key }: Identity): Client => {
  const { host, hostname } = new URL(endpoint)
  const address = hostname.replace(/^\[(.*)\]$/, '$1')
  if (isIP(address) === 0)
    return new Client(host, credentials.createSsl(ca, key, cert), CHANNEL_OPTIONS)
  // The library would send the address as a name of TLS, which Node.js warns of at each start. It
  // is compared with the certificate all the same.
  const checkIdentity = (_name: string, peer: PeerCertificate): Error | undefined =>
    checkServerIdentity(address, peer)
  const secure = credentials.createSsl(ca, key, cert, { checkServerIdentity: checkIdentity })
  return new Client(host, secure, { ...CHANNEL_OPTIONS, 'grpc.ssl_target_name_override': NO_NAME })
}

/**
 * A client of the members of one etcd. It calls one of them, and the next one after a call without
 * an answer; no call is repeated here.
 */
export class Etcd {
  private readonly clients: readonly Client[]
  private readonly callMs: number
  private current = 0

  constructor({ endpoints, identity, callMs }: EtcdOptions) {
    this.callMs = callMs
    this.clients = endpoints.map(endpoint => openClient(endpoint, identity))
  }

  /** Reads one key as it is now. */
  async get(key: string): Promise<{ readonly revision: number; readonly found?: KeyValue }> {
    const { header, kvs } = await this.call<RawRange>('KV', 'Range', { key })
    const [raw] = kvs
    return raw === undefined
      ? { revision: header.revision }
      : { revision: header.revision, found: toKeyValue(raw) }
  }

  /**
   * Reads the keys that begin with a prefix, in their order, `limit` at a time, all as of one
   * revision: that of the first answer unless one is given.
   */
  async list(
    prefix: string,
    { limit, atRevision = 0 }: { readonly limit: number; readonly atRevision?: number },
  ): Promise<{ readonly revision: number; readonly found: readonly KeyValue[] }> {
    const range_end = endOfPrefix(prefix)
    const found: KeyValue[] = []
    let revision = atRevision
    let key = prefix
    for (;;) {
      const request = { key, range_end, limit, revision }
      const { header, kvs, more } = await this.call<RawRange>('KV', 'Range', request)
      if (revision === 0) ({ revision } = header)
      found.push(...kvs.map(toKeyValue))
      if (!more) return { revision, found }
      key = `${kvs.at(-1)?.key ?? key}\0`
    }
  }

  /** A revision that was reached after the call began. */
  async prove(key: string): Promise<number> {
    const { header } = await this.call<RawRange>('KV', 'Range', { key, count_only: true })
    return header.revision
  }

  /** Runs `success` if all comparisons hold, else `failure`; returns what its `get`s found. */
  async transact(
    compare: readonly Comparison[],
    success: readonly Operation[],
    failure: readonly Operation[] = [],
  ): Promise<{
    readonly isDone: boolean
    readonly revision: number
    readonly found: readonly (KeyValue | undefined)[]
  }> {
    const { header, succeeded, responses } = await this.call<RawTxn>('KV', 'Txn', {
      compare: compare.map(toCompare),
      success: success.map(toOperation),
      failure: failure.map(toOperation),
    })
    const found = responses.map(({ response_range: range }) => {
      const raw = range?.kvs[0]
      return raw && toKeyValue(raw)
    })
    return { isDone: succeeded, revision: header.revision, found }
  }

  /** Removes what was replaced up to a revision. */
  async compact(revision: number): Promise<void> {
    await this.call('KV', 'Compact', { revision })
  }

  /** Changes users and roles; see `src/cluster/roles.ts`. */
  async changeAuth(method: string, request: object): Promise<void> {
    await this.call('Auth', method, request)
  }

  /**
   * What happens to keys that begin with a prefix, or to those from there to `end`, from a revision
   * on, until the signal aborts. The events of one revision come together, and all of an earlier
   * one before. Throws if the member does not answer any more.
   */
  async *watch(
    prefix: string,
    fromRevision: number,
    signal: AbortSignal,
    end: string = endOfPrefix(prefix),
  ): AsyncGenerator<readonly WatchEvent[]> {
    if (signal.aborted) return
    const stream = this.openWatch()
    const onAbort = (): void => stream.cancel()
    signal.addEventListener('abort', onAbort)
    try {
      stream.write({
        create_request: {
          key: prefix,
          range_end: end,
          start_revision: fromRevision,
        },
      })
      for await (const raw of stream) {
        const { canceled, compact_revision, cancel_reason, events } = raw as RawWatch
        if (compact_revision > 0) throw new CompactedError(`compacted up to ${compact_revision}`)
        if (canceled) throw new EtcdError(status.PERMISSION_DENIED, cancel_reason)
        if (events.length > 0)
          yield events.map(({ type, kv }) =>
            Object.assign(toKeyValue(kv), { isRemoved: type === DELETION }),
          )
      }
    } catch (error) {
      if (signal.aborted) return
      throw isServiceError(error) ? new EtcdError(error.code, error.details) : error
    } finally {
      signal.removeEventListener('abort', onAbort)
      stream.cancel()
    }
  }

  /** Calls the next member from now on. */
  useNext(): void {
    this.current = (this.current + 1) % this.clients.length
  }

  close(): void {
    for (const client of this.clients) client.close()
  }

  private get client(): Client {
    const client = this.clients[this.current]
    if (client === undefined) throw new Error('etcd: no endpoint')
    return client
  }

  private openWatch(): ClientDuplexStream<object, object> {
    const { path, requestSerialize, responseDeserialize } = methodOf('Watch', 'Watch')
    const stream = this.client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize)
    // The reader gets it; without a listener it would end the process when nobody reads.
    stream.on('error', () => {})
    return stream
  }

  private call<T>(service: string, name: string, request: object): Promise<T> {
    const { path, requestSerialize, responseDeserialize } = methodOf(service, name)
    const { client, current } = this
    return new Promise((resolve, reject) => {
      client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        request,
        { deadline: Date.now() + this.callMs },
        (error, answer) => {
          if (error === null) return resolve(answer as T)
          if (error.code === status.OUT_OF_RANGE && /compacted/.test(error.details))
            return reject(new CompactedError(error.details))
          const failure = new EtcdError(error.code, error.details)
          // Another call may have turned to the next one already.
          if (failure.isUnknown && this.current === current) this.useNext()
          reject(failure)
        },
      )
    })
  }
}

const isServiceError = (error: unknown): error is ServiceError =>
  error instanceof Error && 'code' in error && 'details' in error
