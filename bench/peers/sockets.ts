// A server of WebSockets, ours or a bare one, that reports how much memory it takes and how long it
// publishes.
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import uws, { type WebSocket } from 'uWebSockets.js'
import { UsageLimiter } from '../../src/access/limiter/usage-limiter.js'
import { openLimitTable } from '../../src/access/limiter/limit-table.js'
import { openLiveCells } from '../../src/usage/live-cells.js'
import { AccessPauses } from '../../src/edge/websocket/access-pauses.js'
import { SYSTEM_TIMERS } from '../../src/shared/event-loop/timers.js'
import { createEdgeSockets } from '../../src/edge/websocket/routes.js'
import type { ServedNetwork } from '../../src/edge/networks/network-view.js'
import { defaults } from '../../src/config/sections/process-options.js'
import { openServer, type Server } from '../../src/server/server.js'
import { ByteBudget } from '../../src/shared/byte-budget.js'
import type { Grant } from '../../src/shared/grant.js'
import { createLog, type Log } from '../../src/shared/log.js'
import { boundUnsent } from '../../src/native/os.js'
import type { Socket, SocketRoute } from '../../src/shared/socket.js'
import { onStart } from '../child.js'

/** Parameters of the peer. */
export type Start = {
  readonly isBare: boolean
  /** Where it may keep what it counts. */
  readonly dir: string
  readonly socketCount: number
}

export type Listening = { readonly port: number }

/** A request to `/control`, and its answer. */
export type Command =
  | { readonly kind: 'memory' }
  | { readonly kind: 'publish'; readonly times: number; readonly bytes: number }
  /** Publishes from now on, until it is asked with 0 bytes. */
  | { readonly kind: 'stream'; readonly everyMs: number; readonly bytes: number }
  | { readonly kind: 'state' }
export type Memory = { readonly rss: number; readonly heapUsed: number }
export type Published = { readonly elapsedMs: number; readonly cpuMs: number }

/** Of one of our servers. */
export type State = {
  readonly rss: number
  readonly sockets: number
  readonly queuedBytes: number
  /** Closed because their clients did not keep up. */
  readonly lagging: number
}

const TOPIC = 'main:1'
const TOKEN = '/:token'

setFlagsFromString('--expose-gc')
const collect: unknown = runInNewContext('gc')

const memory = (): Memory => {
  if (typeof collect === 'function') for (let round = 0; round < 3; round++) collect()
  const { rss, heapUsed } = process.memoryUsage()
  return { rss, heapUsed }
}

type Publish = (frame: Uint8Array) => void

/** At the end of the event loop's turn each frame is sent as far as its clients read. */
const publishAll = async (
  publish: Publish,
  { times, bytes }: { readonly times: number; readonly bytes: number },
): Promise<Published> => {
  const frame = Buffer.alloc(bytes, 'x')
  const cpu = process.cpuUsage()
  const startMs = performance.now()
  for (let time = 0; time < times; time++) {
    publish(frame)
    await new Promise(resolve => setImmediate(resolve))
  }
  const elapsedMs = performance.now() - startMs
  const { user, system } = process.cpuUsage(cpu)
  return { elapsedMs, cpuMs: (user + system) / 1_000 }
}

let stream: NodeJS.Timeout | undefined

const startStream = (
  publish: Publish,
  { everyMs, bytes }: { readonly everyMs: number; readonly bytes: number },
): null => {
  clearInterval(stream)
  const frame = Buffer.alloc(bytes, 'x')
  if (bytes > 0) stream = setInterval(() => publish(frame), everyMs)
  return null
}

const answer = async (text: string, publish: Publish, state?: () => State): Promise<string> => {
  const command = JSON.parse(text) as Command
  switch (command.kind) {
    case 'memory':
      return JSON.stringify(memory())
    case 'publish':
      return JSON.stringify(await publishAll(publish, command))
    case 'stream':
      return JSON.stringify(startStream(publish, command))
    case 'state':
      return JSON.stringify(state?.())
  }
}

const openBare = (): Promise<Listening> =>
  new Promise((resolve, reject) => {
    const app = uws.App()
    const publish: Publish = frame => void app.publish(TOPIC, frame)
    const toText = (message: ArrayBuffer): string => Buffer.from(message).toString()
    app
      .ws<object>('/control', {
        message: (ws: WebSocket<object>, message) =>
          void answer(toText(message), publish).then(text => ws.send(text)),
      })
      .ws<object>(TOKEN, {
        message: ws => {
          ws.subscribe(TOPIC)
          ws.send('ok')
        },
      })
      .listen('127.0.0.1', 0, socket => {
        if (socket === false) reject(new Error('cannot listen'))
        else resolve({ port: uws.us_socket_local_port(socket) })
      })
  })

const grantFor = (socketCount: number): Grant => ({
  accessId: 'bench',
  tokenId: 'bench',
  network: 'main',
  location: 'bench',
  limits: {
    requestsPerSecondMax: 1_000_000,
    requestsBurstMax: 1_000_000,
    requestsInFlightMax: 10_000,
    socketsMax: socketCount * 2,
    subscriptionsPerSocketMax: 100,
  },
  validFromMs: 0,
  validUntilMs: Infinity,
  address: undefined,
})

const subscribe = (socket: Socket) => ({
  call: () => {
    socket.subscribe(TOPIC)
    return Buffer.from('1')
  },
  afterReply() {},
  onDrain() {},
  size: 0,
  close() {},
})

const REPLY = { status: 200, contentType: 'application/json', body: 'ok' }
/** Every call subscribes: what a call costs is measured elsewhere. */
const VIEW: ServedNetwork = {
  dispatch: {
    handle: (_, context) => {
      void context.callConnectionMethod?.('slotSubscribe', [])
      return REPLY
    },
    refuse: () => '',
  },
}

const openRoutes = (dir: string, grant: Grant, log: Log): readonly SocketRoute[] => {
  const onFault = (fault: unknown): never => {
    throw fault
  }
  const limiter = new UsageLimiter({
    table: openLimitTable(dir, 1),
    edgeIndex: 0,
    usage: openLiveCells(dir, 0, { onFault }),
  })
  const { routes } = createEdgeSockets({
    location: 'bench',
    authenticate: () => grant,
    version: () => 1,
    limiter,
    now: Date.now,
    onRefusal() {},
    views: new Map([['main', VIEW]]),
    log,
    options: defaults,
    timers: SYSTEM_TIMERS,
    budget: new ByteBudget(2),
    pauses: new AccessPauses(defaults, SYSTEM_TIMERS),
    connect: (_, socket) => subscribe(socket),
  })
  return routes
}

const stateOf = (server: Server): State => {
  const { sockets, socketQueuedBytes, closes } = server.stats()
  return {
    rss: process.memoryUsage.rss(),
    sockets,
    queuedBytes: socketQueuedBytes,
    lagging: closes.get(1013) ?? 0,
  }
}

const openOurs = async ({ dir, socketCount }: Start): Promise<Listening> => {
  const log = createLog('bench', line => process.stderr.write(line))
  const routes = openRoutes(mkdtempSync(join(dir, 'sockets-')), grantFor(socketCount), log)
  const control: SocketRoute = {
    pattern: '/control',
    frameBytesMax: 1_000,
    open: () => ({}),
    onOpen() {},
    onMessage: (_, socket, body) => {
      const publish: Publish = frame => server.publish(TOPIC, frame)
      const text = Buffer.from(body).toString()
      void answer(text, publish, () => stateOf(server)).then(reply => socket.send(reply))
    },
    onClose() {},
  }
  const server = await openServer({
    routes: [],
    sockets: [control, ...routes],
    listeners: [{ host: '127.0.0.1', port: 0 }],
    log,
    now: () => performance.now(),
  })
  // As each edge does.
  boundUnsent(defaults.unsentBytesMax)
  return { port: server.ports[0] ?? 0 }
}

onStart<Start, Listening>(start => (start.isBare ? openBare() : openOurs(start)))
