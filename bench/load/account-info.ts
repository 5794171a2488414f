// getAccountInfo at full speed: the edge with authentication against bare servers in JavaScript and
// C++, and against services in the usual way, on Fastify and on uWebSockets.js with json-rpc-2.0.
// Limits are checked and never reached. The sampled accounts are more than an edge caches results
// of, so nearly every one is read; the result of one account is read once and cached, because
// nothing is committed during the run (recentResultsMax). In C++ and Rust, without JavaScript, the
// edge adds to the bare C++ server: a look-up of the token, a load of the access version, the
// limits, and the read, which parses the body, walks the B-tree and writes the reply (1 µs, 2.7 µs
// with cold caches), one counter and one histogram (0.2 µs).
import { join } from 'node:path'
import { recordExchanges } from '../data/record-exchanges.js'
import { cpuTimesOf, runJob, startChild, type Child as ChildOf } from '../child.js'
import type { Exchange } from '../load-generators/connection.js'
import type { ClosedLoop, ClosedLoopResult } from '../load-generators/closed-loop.js'
import { hasWrk, runWrk } from '../load-generators/wrk.js'
import type { Context } from '../context.js'
import type { Server } from '../service/deployment.js'
import { CLOSED_LOOP_CONNECTIONS } from '../options.js'
import type * as bare from '../peers/bare.js'
import type * as bareCpp from '../peers/bare-cpp.js'
import type * as stored from '../peers/stored-accounts.js'
import { formatCpuTime, median } from '../report/report.js'

/** Targets of docs/performance.md. */
const OF_BARE = 1
const OF_BARE_CPP = 0.75
const USER_MICROS = 6
const OF_FASTIFY = 5
const OF_BARE_WEBSOCKETS = 0.9

type Listening = bare.Listening & stored.Listening
type Child = ChildOf<Listening>

type Peers = {
  readonly bare: Child
  readonly bareCpp: ChildOf<bareCpp.Listening>
  readonly fastify: Child
  readonly jsonRpc: Child
}

type Contender = {
  readonly name: string
  readonly server: Server
  readonly exchanges: readonly Exchange[]
}

/** What one client saw of each contender, round by round. */
type Rounds = {
  readonly perSecond: Map<string, number[]>
  /** Requests per second of the server's processor time: what one core can do. */
  readonly perCpuSecond: Map<string, number[]>
  /** Processor time of the server for each request, in µs. */
  readonly userMicros: Map<string, number[]>
  readonly systemMicros: Map<string, number[]>
}

const push = (rounds: Map<string, number[]>, name: string, value: number): void => {
  rounds.set(name, [...(rounds.get(name) ?? []), value])
}

const runClosedLoop = async (
  { plan, note }: Context,
  client: string,
  { name, server, exchanges }: Contender,
  rounds: Rounds,
): Promise<void> => {
  const cpuBefore = cpuTimesOf(server.pid)
  const result = await runJob<ClosedLoop, ClosedLoopResult>(client, {
    target: server.target,
    exchanges,
    connectionCount: CLOSED_LOOP_CONNECTIONS,
    warmMs: plan.warmMs,
    durationMs: plan.closedLoopMs,
  })
  const cpuAfter = cpuTimesOf(server.pid)
  if (result.wrong > 0) throw new Error(`${client} against ${name}: ${result.wrong} wrong replies`)
  // The load generator may be at fault, and the answered requests are still a measurement.
  if (result.lost > 0) note(`${client} lost ${result.lost} requests against ${name}`)
  push(rounds.perSecond, name, result.requestsPerSecond)
  if (cpuBefore === undefined || cpuAfter === undefined) return
  const userMs = cpuAfter.userMs - cpuBefore.userMs
  const systemMs = cpuAfter.systemMs - cpuBefore.systemMs
  push(rounds.perCpuSecond, name, result.answered / ((userMs + systemMs) / 1000))
  push(rounds.userMicros, name, (userMs * 1000) / result.answered)
  push(rounds.systemMicros, name, (systemMs * 1000) / result.answered)
}

/**
 * The median over the rounds of ours divided by theirs: both are of the same seconds, under the
 * same noise.
 */
const ratio = (rounds: Map<string, number[]>, theirs: string): number =>
  median((rounds.get('edge') ?? []).map((ours, nth) => ours / (rounds.get(theirs)?.[nth] ?? NaN)))

/** The last path segment is the token, for the peers as for the edge. */
const startPeers = async (context: Context): Promise<Peers> => {
  const { accountInfo, dir, expected, plan, token } = context
  const reply = accountInfo[0]?.reply ?? ''
  const startUsual = (name: string): Promise<Child> =>
    startChild<stored.Start, Listening>(`peers/${name}.js`, {
      dir: join(dir, name),
      set: expected.set,
      history: plan.history,
      token,
    })
  return {
    bare: await startChild<bare.Start, Listening>('peers/bare.js', { reply }),
    bareCpp: await startChild<bareCpp.Start, bareCpp.Listening>('peers/bare-cpp.js', {
      dir,
      reply,
    }),
    fastify: await startUsual('fastify'),
    jsonRpc: await startUsual('json-rpc'),
  }
}

const contenders = async (
  context: Context,
  { bare: bareServer, bareCpp, fastify, jsonRpc }: Peers,
): Promise<Contender[]> => {
  const { accountInfo, accountCalls, edge } = context
  const { path } = edge.target
  const reply = accountInfo[0]?.reply ?? ''
  // All replies are of one length, so one that is the same for every call costs a bare server what
  // each would.
  const sameReply = accountInfo.map(({ body }) => ({ body, reply }))
  const ofBare = (name: string, pid: number, port: number): Contender => ({
    name,
    server: { pid, target: { port, path } },
    exchanges: sameReply,
  })
  const ofUsual = async (name: string, { pid, answer }: Child): Promise<Contender> => {
    const target = { port: answer.port, path }
    const exchanges = await recordExchanges(target, accountCalls)
    return { name, server: { pid, target }, exchanges }
  }
  const cpp = bareCpp.answer
  return [
    ofBare('bare', bareServer.pid, bareServer.answer.port),
    ...(cpp === undefined ? [] : [ofBare('bare C++', cpp.serverPid, cpp.port)]),
    { name: 'edge', server: edge, exchanges: accountInfo },
    await ofUsual('fastify', fastify),
    await ofUsual('json-rpc-2.0', jsonRpc),
  ]
}

const runRounds = async (
  context: Context,
  client: string,
  servers: readonly Contender[],
  rounds: number,
): Promise<Rounds> => {
  const result: Rounds = {
    perSecond: new Map(),
    perCpuSecond: new Map(),
    userMicros: new Map(),
    systemMicros: new Map(),
  }
  for (let round = 0; round < rounds; round++)
    for (const contender of servers) await runClosedLoop(context, client, contender, result)
  return result
}

/** Rounds of each server in turn, and what ours is of theirs. */
const compare = async (
  context: Context,
  what: string,
  servers: readonly Contender[],
): Promise<void> => {
  const { plan, report } = context
  const rounds = await runRounds(context, 'load-generators/closed-loop.js', servers, plan.rounds)
  for (const { name } of servers) {
    const value = median(rounds.perSecond.get(name) ?? [])
    report({ name: `${what}, ${name}`, value, unit: 'requests/s', better: 'higher' })
  }
  for (const { name } of servers) {
    const [user, system] = [rounds.userMicros.get(name), rounds.systemMicros.get(name)]
    if (user !== undefined && system !== undefined)
      context.note(formatCpuTime(name, median(user), median(system)))
  }
  const ownMicros = rounds.userMicros.get('edge')
  if (ownMicros !== undefined)
    report({
      name: `${what}, user time of the edge for each`,
      value: median(ownMicros),
      unit: 'µs',
      better: 'lower',
      target: USER_MICROS,
    })
  const ratios = [
    ['edge / bare', rounds.perSecond, 'bare', OF_BARE],
    ['edge / bare, per CPU second', rounds.perCpuSecond, 'bare', OF_BARE],
    ['edge / bare C++', rounds.perSecond, 'bare C++', OF_BARE_CPP],
    ['edge / bare C++, per CPU second', rounds.perCpuSecond, 'bare C++', OF_BARE_CPP],
    ['edge / fastify', rounds.perSecond, 'fastify', OF_FASTIFY],
    ['edge / fastify, per CPU second', rounds.perCpuSecond, 'fastify', OF_FASTIFY],
    ['edge / json-rpc-2.0', rounds.perSecond, 'json-rpc-2.0', undefined],
    ['edge / json-rpc-2.0, per CPU second', rounds.perCpuSecond, 'json-rpc-2.0', undefined],
  ] as const
  for (const [name, map, theirs, target] of ratios)
    if (map.has(theirs))
      report({
        name: `${what}, ${name}`,
        value: ratio(map, theirs),
        unit: '×',
        better: 'higher',
        ...(target !== undefined && { target }),
      })
}

/** getAccountInfo against bare servers and against Fastify. */
export const benchAccountInfo = async (context: Context): Promise<void> => {
  const { plan, note } = context
  const peers = await startPeers(context)
  try {
    const servers = await contenders(context, peers)
    note(
      `closed loop of ${CLOSED_LOOP_CONNECTIONS} connections; ${plan.rounds} rounds of ${plan.closedLoopMs} ` +
        'ms in turn, medians; authentication on',
    )
    await compare(context, 'getAccountInfo', servers)
    // The same bytes each time, as the bare server sends them: the difference is neither the
    // processor's cache nor reading.
    const one = servers.map(each => ({ ...each, exchanges: each.exchanges.slice(0, 1) }))
    await compare(context, 'getAccountInfo of one account', one)

    await compareWebSockets(context, servers)

    // autocannon costs two to three times as much as the bare server: it only verifies replies.
    const byAutocannon = await runRounds(
      context,
      'load-generators/autocannon.js',
      servers,
      Math.min(2, plan.rounds),
    )
    const seen = servers.map(({ name }) => {
      const perSecond = Math.round(median(byAutocannon.perSecond.get(name) ?? []))
      return `${name} ${perSecond}/s`
    })
    note(`autocannon, which is itself the limit: ${seen.join(', ')}; no reply was wrong`)
    if (hasWrk()) await secondOpinion(context, servers)
  } finally {
    await Promise.all(Object.values(peers).map(peer => peer.stop()))
  }
}

/** The same calls as messages of WebSockets; the bare server answers them with the same bytes. */
const compareWebSockets = async (
  context: Context,
  servers: readonly Contender[],
): Promise<void> => {
  const { plan, report, note } = context
  const sockets = servers
    .filter(({ name }) => name === 'bare' || name === 'edge')
    .map(({ name, exchanges, server: { pid, target } }) => {
      const { port, path } = target
      return { name, exchanges, server: { pid, target: { port, path, isWebSocket: true } } }
    })
  const rounds = await runRounds(context, 'load-generators/closed-loop.js', sockets, plan.rounds)
  for (const { name } of sockets)
    note(
      `WebSockets: ${Math.round(median(rounds.perSecond.get(name) ?? []))} calls/s; ` +
        formatCpuTime(
          name,
          median(rounds.userMicros.get(name) ?? []),
          median(rounds.systemMicros.get(name) ?? []),
        ),
    )
  report({
    name: 'getAccountInfo over WebSockets, edge / bare',
    value: ratio(rounds.perSecond, 'bare'),
    unit: '×',
    better: 'higher',
    target: OF_BARE_WEBSOCKETS,
  })
}

const secondOpinion = async (
  { dir, plan, note }: Context,
  servers: readonly Contender[],
): Promise<void> => {
  const perSecond = new Map<string, number[]>()
  for (let round = 0; round < plan.rounds; round++)
    for (const { name, server, exchanges } of servers) {
      const connectionCount = CLOSED_LOOP_CONNECTIONS
      const durationMs = plan.closedLoopMs
      const options = { dir, target: server.target, exchanges, connectionCount, durationMs }
      const { requestsPerSecond, complaint } = await runWrk(options)
      if (requestsPerSecond !== undefined) push(perSecond, name, requestsPerSecond)
      if (complaint !== undefined) note(`wrk against ${name}: ${complaint}`)
    }
  const seen = servers.map(
    ({ name }) => `${name} ${Math.round(median(perSecond.get(name) ?? []))}/s`,
  )
  note(
    `wrk: ${seen.join(', ')}; edge / bare ${ratio(perSecond, 'bare').toFixed(2)}, ` +
      `edge / bare C++ ${ratio(perSecond, 'bare C++').toFixed(2)}, ` +
      `edge / fastify ${ratio(perSecond, 'fastify').toFixed(2)}, ` +
      `edge / json-rpc-2.0 ${ratio(perSecond, 'json-rpc-2.0').toFixed(2)}`,
  )
}
