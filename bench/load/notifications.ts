// From the commit of a block to the last byte of the notifications that it gives: 1,000 accounts,
// each with its subscription, on one socket of a separate edge, and over fifty. Sketch: a
// message to the edge, a pass (1,000 inspect-ups, 1,000 records of 165 bytes read and written as
// JSON), 500 KB over the boundary, 1,000 publishes of 480 bytes, one TCP connection of loopback, or
// a write to each of fifty. Then ten sockets for each account: 10,000 writes of 7 µs.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import bs58 from 'bs58'
import { setCurrentGeneration, storesPath } from '../../src/storage/generations.js'
import { openIndexer, type Indexer } from '../../src/native/indexer.js'
import type { Context } from '../context.js'
import { openListener, type Listener } from '../load-generators/slots/listener.js'
import {
  benchConfig,
  createToken,
  forgetTurns,
  longestTurnMs,
  NETWORK,
  startEdge,
  turnMsOf,
  type Edge,
} from '../service/deployment.js'
import { STORE_OPTIONS } from '../options.js'
import { benchSubscribers } from './subscribers.js'

const ACCOUNTS = 1_000
/** Bound of one turn of the event loop. */
const TURN_MS_MAX = 5

type Spread = {
  readonly sockets: number
  /** Accounts that each of them is subscribed to. */
  readonly each: number
  /**
   * Of so many sockets one is read at once, in the order of subscribing, which is that of sending.
   * The others are read between two blocks.
   */
  readonly readOneOf: number
  /** Bound of p99 on an idle machine. */
  readonly p99MsMax: number
}
const SPREADS: readonly Spread[] = [
  { sockets: 1, each: ACCOUNTS, readOneOf: 1, p99MsMax: 20 },
  { sockets: 50, each: ACCOUNTS / 50, readOneOf: 1, p99MsMax: 20 },
  // A client of one process cannot read as many sockets as fast as they are written.
  { sockets: 10_000, each: 1, readOneOf: 50, p99MsMax: 25 },
]
/** Subscribed in one message: the largest batch. */
const TOGETHER = 100
/** Between two blocks, so that each finds an idle edge. */
const PAUSE_MS = 20
const CLOSED_MS_MAX = 10_000

const keyOf = (index: number): Buffer => {
  const key = Buffer.alloc(32, 7)
  key.writeUInt32BE(index + 1, 0)
  return key
}

const hash = (slot: number): Buffer => {
  const bytes = Buffer.alloc(32)
  bytes.writeUInt32BE(slot, 0)
  return bytes
}

/** Changes every account; its lamports are the slot. */
const applyBlock = (indexer: Indexer, slot: number): void => {
  const data = Buffer.alloc(165, slot)
  indexer.applyBlock({
    slot,
    parentSlot: slot - 1,
    blockhash: hash(slot),
    parentBlockhash: hash(slot - 1),
    blockHeight: slot,
    accounts: Array.from({ length: ACCOUNTS }, (_, index) => ({
      pubkey: keyOf(index),
      lamports: BigInt(slot),
      rentEpoch: 2n ** 64n - 1n,
      executable: false,
      owner: Buffer.alloc(32, 9),
      data,
    })),
  })
}

/** Resolves after so many messages for each of these. */
const take = (
  listeners: readonly Listener[],
  each: number,
  inspect: (body: Buffer) => void = () => {},
): Promise<void> =>
  new Promise((resolve, reject) => {
    let missing = listeners.length * each
    if (missing === 0) return resolve()
    const late = setTimeout(() => reject(new Error(`${missing} messages missing`)), 5_000)
    const onMessage = (body: Buffer): void => {
      inspect(body)
      if (--missing > 0) return
      clearTimeout(late)
      resolve()
    }
    for (const listener of listeners) listener.onMessage = onMessage
  })

type Notification = {
  readonly params: {
    readonly result: { readonly context: { slot: number }; readonly value: { lamports: number } }
    readonly subscription: number
  }
}

type Listeners = Awaited<ReturnType<typeof openListeners>>

/** Subscribes to a run of the accounts: the ids. */
const subscribe = async (
  listener: Listener,
  first: number,
  count: number,
): Promise<readonly number[]> => {
  const ids: number[] = []
  for (let from = 0; from < count; from += TOGETHER) {
    const calls = Array.from({ length: Math.min(TOGETHER, count - from) }, (_, at) => ({
      jsonrpc: '2.0',
      id: at,
      method: 'accountSubscribe',
      params: [bs58.encode(keyOf(first + from + at)), { encoding: 'base64' }],
    }))
    const reply = take([listener], 1, body => {
      const results = JSON.parse(body.toString()) as readonly { readonly result: number }[]
      for (const { result } of results) ids.push(result)
    })
    listener.send(JSON.stringify(calls))
    await reply
  }
  return ids
}

/** Opens the sockets of a spread, and subscribes each; the ids of those that are read at once. */
const openListeners = async ({ target }: Edge, { sockets, each, readOneOf }: Spread) => {
  const read: Listener[] = []
  const later: Listener[] = []
  const ids: number[] = []
  // A hundred at a time: more would be over the backlog of the listening socket.
  for (let first = 0; first < sockets; first += TOGETHER) {
    const count = Math.min(TOGETHER, sockets - first)
    const opened = await Promise.all(
      Array.from({ length: count }, () => openListener(target.port, target.path)),
    )
    for (const [at, listener] of opened.entries()) {
      const own = await subscribe(listener, ((first + at) * each) % ACCOUNTS, each)
      if ((first + at + 1) % readOneOf !== 0) {
        listener.pause()
        later.push(listener)
        continue
      }
      read.push(listener)
      ids.push(...own)
    }
  }
  return { read, later, all: [...read, ...later], ids: new Set(ids) }
}

/** Reads what has come: unread, it would be compacted by the kernel in the turns of the edge. */
const readLater = async (listeners: readonly Listener[], count: number): Promise<void> => {
  const all = take(listeners, count)
  for (const listener of listeners) listener.resume()
  await all
  for (const listener of listeners) listener.pause()
}

const OPEN_SOCKETS = /^slotline_websockets\{[^}]*\} (\d+)$/m

/** Closes all at once; the longest turn of the event loop until the edge has closed them, too. */
const closeAll = async (edge: Edge, listeners: readonly Listener[]): Promise<number> => {
  for (const listener of listeners) listener.close()
  let turnMs = 0
  for (const endMs = performance.now() + CLOSED_MS_MAX; performance.now() < endMs;) {
    const metrics = await edge.metrics()
    turnMs = Math.max(turnMs, turnMsOf(metrics))
    if (OPEN_SOCKETS.exec(metrics)?.[1] === '0') return turnMs
    await new Promise(resolve => setTimeout(resolve, PAUSE_MS))
  }
  throw new Error('sockets of closed clients are still open')
}

const reportSpread = (
  { report, note }: Context,
  { sockets, each, p99MsMax }: Spread,
  { times, turnMs }: { readonly times: readonly number[]; readonly turnMs: number },
): void => {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN
  note(
    `${sorted.length} blocks, each with ${ACCOUNTS} accounts of 165 bytes, subscribed to on ` +
      (sockets === 1 ? 'one socket' : `${sockets} sockets`),
  )
  const over = sockets === 1 ? '' : ` over ${sockets} sockets`
  const name = `a commit to the last byte of ${sockets * each} notifications${over}`
  report({ name: `${name}, p50`, value: at(0.5), unit: 'ms', better: 'lower' })
  report({
    name: `${name}, p99`,
    value: at(0.99),
    unit: 'ms',
    better: 'lower',
    target: p99MsMax,
    isTail: true,
  })
  report({
    name: `${name}, longest turn of the event loop, processor time`,
    value: turnMs,
    unit: 'ms',
    better: 'lower',
    target: TURN_MS_MAX,
    isTail: true,
  })
}

/** How long after a block its subscribers are notified. */
export const benchNotifications = async (context: Context): Promise<void> => {
  const { plan, dir, upstreamPort } = context
  const config = await benchConfig(join(dir, 'notifications'), upstreamPort)
  const stores = storesPath(config.dataDir, NETWORK)
  mkdirSync(join(stores, '1'), { recursive: true, mode: 0o700 })
  const indexer = openIndexer(join(stores, '1'), { ...STORE_OPTIONS, mapBytes: 2 ** 32 })
  applyBlock(indexer, 1)
  setCurrentGeneration(stores, '1')
  const edge = await startEdge(
    { ...config, store: { ...config.store, mapBytes: 2 ** 32 } },
    await createToken(config),
  )
  let opened: Listeners | undefined
  let slot = 1
  const round = async (
    { read, later }: Listeners,
    each: number,
    inspect?: (body: Buffer) => void,
  ): Promise<number> => {
    slot += 1
    const all = take(read, each, inspect)
    applyBlock(indexer, slot)
    const startMs = performance.now()
    edge.send({ kind: 'committed', network: NETWORK, slot })
    await all
    const ms = performance.now() - startMs
    await readLater(later, each)
    return ms
  }
  try {
    for (const spread of SPREADS) {
      opened = await openListeners(edge, spread)
      const { all, ids } = opened
      const seen = new Set<number>()
      await round(opened, spread.each, body => {
        const { params } = JSON.parse(body.toString()) as Notification
        const { result, subscription } = params
        if (
          !ids.has(subscription) ||
          result.context.slot !== slot ||
          result.value.lamports !== slot
        )
          throw new Error(`a wrong notification: ${body.toString()}`)
        seen.add(subscription)
      })
      if (seen.size !== ids.size) throw new Error(`${seen.size} different notifications`)
      await forgetTurns(edge)
      const times: number[] = []
      for (let count = 0; count < plan.notifiedBlocks; count++) {
        times.push(await round(opened, spread.each))
        await new Promise(resolve => setTimeout(resolve, PAUSE_MS))
      }
      reportSpread(context, spread, { times, turnMs: await longestTurnMs(edge) })
      const closingTurnMs = await closeAll(edge, all)
      if (spread.sockets === 1) continue
      context.report({
        name: `${spread.sockets} sockets that are closed at once, longest turn, processor time`,
        value: closingTurnMs,
        unit: 'ms',
        better: 'lower',
        target: TURN_MS_MAX,
        isTail: true,
      })
    }
  } finally {
    for (const listener of opened?.all ?? []) listener.close()
    await edge.stop()
    indexer.close()
  }
  await benchSubscribers(context)
}
