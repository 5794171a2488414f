import { createServer, constants, type Http2Session, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'

/**
 * gRPC over node:http2, as much as the feed needs. Not `@grpc/grpc-js`: that sends every message as
 * a DATA frame of its own, and Rust clients end a connection that sends many small ones
 * (`too_many_data_frames`). Here a whole batch of messages is one write.
 */

/** Codes of gRPC that are used here. */
export const GRPC_STATUS = {
  ok: 0,
  invalidArgument: 3,
  resourceExhausted: 8,
  outOfRange: 11,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
} as const

/** How a call ends. */
export type GrpcStatus = { readonly code: number; readonly details: string }

/** Thrown by a handler to end its call with a status. */
export class GrpcError extends Error {
  override readonly name = 'GrpcError'
  readonly code: number

  constructor(code: number, details: string) {
    super(details)
    this.code = code
  }
}

/** What a streaming handler hears from its client. */
export type StreamListener = {
  message(bytes: Buffer): void
  /** What was written is on its way: there is room again. */
  drained(): void
  closed(): void
}

/** The server's side of one streaming call. */
export type GrpcStream = {
  /** Writes framed messages; false where the client must catch up first. */
  write(frames: Buffer): boolean
  end(status: GrpcStatus): void
}

export type GrpcMethods = {
  /** Takes the body of a POST to `/_control`, no gRPC; what it throws is answered as 400. */
  readonly control?: (body: string) => void
  readonly unary: Readonly<Record<string, (request: Buffer) => Buffer>>
  readonly streaming: Readonly<Record<string, (stream: GrpcStream) => StreamListener>>
}

export type GrpcServerOptions = {
  readonly host: string
  readonly port: number
  /** A longer message ends its call. */
  readonly requestBytesMax: number
}

export type GrpcServer = {
  readonly port: number
  /** Cuts every connection without a word. */
  dropConnections(): void
  close(): Promise<void>
}

const HEADER_BYTES = 5
/** Time for what was written, and the status, to reach the client. */
const END_GRACE_MS = 5_000
const CONTENT_TYPE = 'application/grpc'
/** Where orders of tests go, as at every dev upstream. */
const CONTROL = '/_control'
const HEADERS = {
  [constants.HTTP2_HEADER_STATUS]: 200,
  [constants.HTTP2_HEADER_CONTENT_TYPE]: CONTENT_TYPE,
  'grpc-accept-encoding': 'identity,gzip',
}

/** The five bytes before a message of this length. */
export const encodeFrameHeader = (byteCount: number): Buffer => {
  const header = Buffer.allocUnsafe(HEADER_BYTES)
  header[0] = 0
  header.writeUInt32BE(byteCount, 1)
  return header
}

const toTrailers = ({ code, details }: GrpcStatus): Record<string, string> => ({
  'grpc-status': String(code),
  // Printable ASCII but the percent sign goes as it is.
  'grpc-message': details.replace(/[^ -$&-~]/gu, encodeURIComponent),
})

/** Cuts what comes in into messages. */
const createDecoder = (encoding: string | undefined, bytesMax: number) => {
  let pending: Buffer = Buffer.alloc(0)
  return (chunk: Buffer): Buffer[] => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
    const messages: Buffer[] = []
    while (pending.length >= HEADER_BYTES) {
      const byteCount = pending.readUInt32BE(1)
      if (byteCount > bytesMax)
        throw new GrpcError(GRPC_STATUS.resourceExhausted, `message exceeds ${bytesMax} bytes`)
      if (pending.length < HEADER_BYTES + byteCount) break
      const isCompressed = pending[0] === 1
      const bytes = pending.subarray(HEADER_BYTES, HEADER_BYTES + byteCount)
      pending = pending.subarray(HEADER_BYTES + byteCount)
      messages.push(isCompressed ? decompress(bytes, encoding, bytesMax) : bytes)
    }
    return messages
  }
}

const decompress = (bytes: Buffer, encoding: string | undefined, bytesMax: number): Buffer => {
  if (encoding !== 'gzip')
    throw new GrpcError(GRPC_STATUS.unimplemented, `grpc-encoding ${encoding} is not supported`)
  try {
    return gunzipSync(bytes, { maxOutputLength: bytesMax })
  } catch {
    throw new GrpcError(GRPC_STATUS.internal, 'message could not be decompressed')
  }
}

const toStatus = (error: unknown): GrpcStatus => {
  if (error instanceof GrpcError) return { code: error.code, details: error.message }
  throw error
}

const serveUnary = (
  stream: ServerHttp2Stream,
  answer: (request: Buffer) => Buffer,
  decode: (chunk: Buffer) => Buffer[],
): void => {
  const messages: Buffer[] = []
  const finish = (status: GrpcStatus, reply?: Buffer): void => {
    if (stream.closed || stream.headersSent) return
    if (reply === undefined) {
      stream.respond({ ...HEADERS, ...toTrailers(status) }, { endStream: true })
      return
    }
    stream.respond(HEADERS, { waitForTrailers: true })
    stream.once('wantTrailers', () => stream.sendTrailers(toTrailers(status)))
    stream.end(Buffer.concat([encodeFrameHeader(reply.length), reply]))
  }
  const attempt = (work: () => void): void => {
    try {
      work()
    } catch (error) {
      finish(toStatus(error))
    }
  }
  stream.on('data', (chunk: Buffer) => attempt(() => messages.push(...decode(chunk))))
  stream.on('end', () =>
    attempt(() => {
      const [request] = messages
      if (request === undefined) throw new GrpcError(GRPC_STATUS.internal, 'no request message')
      finish({ code: GRPC_STATUS.ok, details: '' }, answer(request))
    }),
  )
}

const serveControl = (
  stream: ServerHttp2Stream,
  control: (body: string) => void,
  bytesMax: number,
): void => {
  const chunks: Buffer[] = []
  let byteCount = 0
  stream.on('data', (chunk: Buffer) => {
    byteCount += chunk.length
    if (byteCount <= bytesMax) chunks.push(chunk)
  })
  stream.on('end', () => {
    const answer = (status: number, value: unknown): void => {
      stream.respond({
        [constants.HTTP2_HEADER_STATUS]: status,
        [constants.HTTP2_HEADER_CONTENT_TYPE]: 'application/json',
      })
      stream.end(JSON.stringify(value))
    }
    if (byteCount > bytesMax) return answer(413, { error: 'too large' })
    try {
      control(Buffer.concat(chunks).toString())
      answer(200, {})
    } catch (error) {
      answer(400, { error: error instanceof Error ? error.message : String(error) })
    }
  })
}

const serveStreaming = (
  stream: ServerHttp2Stream,
  open: (stream: GrpcStream) => StreamListener,
  decode: (chunk: Buffer) => Buffer[],
): void => {
  let status: GrpcStatus | undefined
  // At once: clients wait for the headers, and the first message may be far away.
  stream.respond(HEADERS, { waitForTrailers: true })
  const end = (with_: GrpcStatus): void => {
    if (status !== undefined || stream.closed) return
    status = with_
    stream.end()
    // A client that does not read never takes the status either.
    const reset = setTimeout(() => stream.close(constants.NGHTTP2_CANCEL), END_GRACE_MS).unref()
    stream.once('close', () => clearTimeout(reset))
  }
  stream.once('wantTrailers', () =>
    stream.sendTrailers(toTrailers(status ?? { code: GRPC_STATUS.ok, details: '' })),
  )
  const listener = open({
    write: frames => status !== undefined || stream.destroyed || stream.write(frames),
    end,
  })
  stream.on('data', (chunk: Buffer) => {
    try {
      for (const message of decode(chunk)) if (status === undefined) listener.message(message)
    } catch (error) {
      end(toStatus(error))
    }
  })
  stream.on('drain', () => listener.drained())
  stream.once('close', () => listener.closed())
}

/** Listens; rejects where the port is taken. Methods are named by their whole path. */
export const openGrpcServer = async (
  methods: GrpcMethods,
  options: GrpcServerOptions,
): Promise<GrpcServer> => {
  const sessions = new Set<Http2Session>()
  const controlling = new WeakSet<Http2Session>()
  // Its own count of queued bytes would refuse calls beside a large account; each stream is bounded
  // by back-pressure instead.
  const server = createServer({ maxSessionMemory: Number.MAX_SAFE_INTEGER })
  server.on('session', session => {
    sessions.add(session)
    session.on('error', () => session.destroy())
    session.once('close', () => sessions.delete(session))
  })
  server.on('stream', (stream, headers) => {
    // A client that vanishes is no failure of ours.
    stream.on('error', () => stream.destroy())
    const path = String(headers[constants.HTTP2_HEADER_PATH])
    const contentType = String(headers[constants.HTTP2_HEADER_CONTENT_TYPE])
    const { control } = methods
    if (path === CONTROL && control !== undefined) {
      // Whoever orders a cut wants to hear that it was done.
      if (stream.session !== undefined) controlling.add(stream.session)
      serveControl(stream, control, options.requestBytesMax)
      return
    }
    if (!contentType.startsWith(CONTENT_TYPE)) {
      stream.respond({ [constants.HTTP2_HEADER_STATUS]: 415 }, { endStream: true })
      return
    }
    const encoding = headers['grpc-encoding']?.toString()
    const decode = createDecoder(encoding, options.requestBytesMax)
    const unary = methods.unary[path]
    const streaming = methods.streaming[path]
    if (unary !== undefined) serveUnary(stream, unary, decode)
    else if (streaming !== undefined) serveStreaming(stream, streaming, decode)
    else {
      const status = { code: GRPC_STATUS.unimplemented, details: `unknown method ${path}` }
      stream.respond({ ...HEADERS, ...toTrailers(status) }, { endStream: true })
    }
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host: options.host, port: options.port }, () => {
      server.off('error', reject)
      resolve()
    })
  })
  const address: string | AddressInfo | null = server.address()
  const dropConnections = (): void => {
    for (const session of sessions) if (!controlling.has(session)) session.destroy()
  }
  return {
    port: typeof address === 'object' && address !== null ? address.port : options.port,
    dropConnections,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        for (const session of sessions) session.destroy()
      }),
  }
}
