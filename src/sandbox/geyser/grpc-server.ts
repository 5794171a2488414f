import { once } from 'node:events'
import {
  createServer,
  constants,
  type Http2Server,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2'
import {
  createDecoder,
  encodeFrameHeader,
  GRPC_STATUS,
  GrpcError,
  type GrpcStatus,
} from './grpc-message.js'

/**
 * The parts of gRPC that the feed needs, over node:http2. `@grpc/grpc-js` sends each message in its
 * own DATA frame, and Rust clients close a connection with many small frames
 * (`too_many_data_frames`). Here a batch of messages is one write.
 */

/** Events of a streaming call. */
export type StreamListener = {
  message(bytes: Buffer): void
  /** The write buffer is empty again. */
  drained(): void
  closed(): void
}

/** The server's side of one streaming call. */
export type GrpcStream = {
  /** Writes framed messages; false asks to wait for `drained`. */
  write(frames: Buffer): boolean
  end(status: GrpcStatus): void
}

export type GrpcMethods = {
  /**
   * Handles the body of a POST to `/_control`, which is not gRPC; an exception is answered as 400.
   */
  readonly control?: (body: string) => void
  readonly unary: Readonly<Record<string, (request: Buffer) => Buffer>>
  readonly streaming: Readonly<Record<string, (stream: GrpcStream) => StreamListener>>
}

export type GrpcServerOptions = {
  readonly host: string
  readonly port: number
  /** A longer message fails its call. */
  readonly requestBytesMax: number
}

export type GrpcServer = {
  readonly port: number
  /** Closes every connection without GOAWAY. */
  dropConnections(): void
  close(): Promise<void>
}

/** Time for pending writes and the status to reach the client. */
const END_GRACE_MS = 5_000
const CONTENT_TYPE = 'application/grpc'
/** Path of control requests, as at every dev upstream. */
const CONTROL = '/_control'
const HEADERS = {
  [constants.HTTP2_HEADER_STATUS]: 200,
  [constants.HTTP2_HEADER_CONTENT_TYPE]: CONTENT_TYPE,
  'grpc-accept-encoding': 'identity,gzip',
}

const toTrailers = ({ code, details }: GrpcStatus): Record<string, string> => ({
  'grpc-status': String(code),
  // Percent-encoded but for printable ASCII.
  'grpc-message': details.replace(/[^ -$&-~]/gu, encodeURIComponent),
})

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
  // Immediately: clients wait for the headers, and the first message may be late.
  stream.respond(HEADERS, { waitForTrailers: true })
  const end = (final: GrpcStatus): void => {
    if (status !== undefined || stream.closed) return
    status = final
    stream.end()
    // A client that does not read does not receive the status either.
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

const serveCall = (
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  { unary, streaming }: GrpcMethods,
  requestBytesMax: number,
): void => {
  if (!String(headers[constants.HTTP2_HEADER_CONTENT_TYPE]).startsWith(CONTENT_TYPE)) {
    stream.respond({ [constants.HTTP2_HEADER_STATUS]: 415 }, { endStream: true })
    return
  }
  const path = String(headers[constants.HTTP2_HEADER_PATH])
  const decode = createDecoder(headers['grpc-encoding']?.toString(), requestBytesMax)
  const [answer, open] = [unary[path], streaming[path]]
  if (answer !== undefined) serveUnary(stream, answer, decode)
  else if (open !== undefined) serveStreaming(stream, open, decode)
  else {
    const status = { code: GRPC_STATUS.unimplemented, details: `unknown method ${path}` }
    stream.respond({ ...HEADERS, ...toTrailers(status) }, { endStream: true })
  }
}

const listen = async (server: Http2Server, host: string, port: number): Promise<number> => {
  const listening = once(server, 'listening')
  server.listen({ host, port })
  await listening
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : port
}

/** Starts a server; rejects if the port is taken. Methods are named by their whole path. */
export const openGrpcServer = async (
  methods: GrpcMethods,
  { host, port, requestBytesMax }: GrpcServerOptions,
): Promise<GrpcServer> => {
  const sessions = new Set<Http2Session>()
  const controlSessions = new WeakSet<Http2Session>()
  // The default limit counts queued bytes of all streams and would refuse calls while a large
  // account is sent; here each stream is bounded by backpressure.
  const server = createServer({ maxSessionMemory: Number.MAX_SAFE_INTEGER })
  server.on('session', session => {
    sessions.add(session)
    session.on('error', () => session.destroy())
    session.once('close', () => sessions.delete(session))
  })
  server.on('stream', (stream, headers) => {
    stream.on('error', () => stream.destroy())
    const { control } = methods
    if (headers[constants.HTTP2_HEADER_PATH] !== CONTROL || control === undefined)
      return serveCall(stream, headers, methods, requestBytesMax)
    // Not dropped with the others: the client waits for the answer to its control request.
    if (stream.session !== undefined) controlSessions.add(stream.session)
    serveControl(stream, control, requestBytesMax)
  })
  return {
    port: await listen(server, host, port),
    dropConnections() {
      for (const session of sessions) if (!controlSessions.has(session)) session.destroy()
    },
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        for (const session of sessions) session.destroy()
      }),
  }
}
