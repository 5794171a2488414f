// From the commit of a block to the last byte of the notifications that it gives: 1,000 accounts,
// each with its subscription, on one socket of a separate edge, and over fifty. Sketch: a
// message to the edge, a pass (1,000 inspect-ups, 1,000 records of 165 bytes read and written as
// JSON), 500 KB over the boundary, 1,000 publishes of 480 bytes, one TCP connection of loopback, or
// a write to each of fifty.
import { mkdirSync } from 'node:fs'
import net from 'node:net'
import { join } from 'node:path'
import bs58 from 'bs58'
import { setCurrentGeneration, storesPath } from '../../src/storage/generations.js'
import { openIndexer, type Indexer } from '../../src/native/indexer.js'
import type { Context } from '../context.js'
import { benchConfig, createToken, NETWORK, startEdge } from '../service/deployment.js'
import { STORE_OPTIONS } from '../options.js'

/** Of an idle machine. */
const P99_MS_MAX = 20
const ACCOUNTS = 1_000
/** Over how many sockets they are spread. */
const SPREADS = [1, 50]
/** Subscribed in one message: the largest batch. */
const TOGETHER = 100
/** Between two blocks, so that each finds an idle edge. */
const PAUSE_MS = 20

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

/** A masked text frame whose mask is zeros. */
const toFrame = (text: string): Buffer => {
  const body = Buffer.from(text)
  const head = Buffer.alloc(8)
  head[0] = 0x81
  head[1] = 0x80 | 126
  head.writeUInt16BE(body.length, 2)
  return Buffer.concat([head, body])
}

/** A socket with minimal work per message. */
const openListener = async (port: number, path: string) => {
  const socket = net.connect(port, '127.0.0.1').setNoDelay(true)
  let unparsed: Buffer = Buffer.alloc(0)
  let onMessage: (body: Buffer) => void = () => {}
  let isOpen = false
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject)
    socket.on('data', data => {
      if (!isOpen) {
        isOpen = data.toString('latin1').startsWith('HTTP/1.1 101 ')
        return isOpen ? resolve() : reject(new Error('the edge refused a WebSocket'))
      }
      unparsed = unparsed.length === 0 ? data : Buffer.concat([unparsed, data])
      for (let at = 0; ;) {
        const short = unparsed.length >= at + 4 ? (unparsed[at + 1] ?? 0) : -1
        const start = at + (short === 126 ? 4 : 2)
        const end = start + (short === 126 ? unparsed.readUInt16BE(at + 2) : short)
        if (short < 0 || short > 126 || end > unparsed.length) {
          unparsed = unparsed.subarray(at)
          return
        }
        onMessage(unparsed.subarray(start, end))
        at = end
      }
    })
    socket.write(
      `GET ${path} HTTP/1.1\r\nHost: bench\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    )
  })
  return {
    send: (text: string): void => void socket.write(toFrame(text)),
    /** Resolves after this many messages. */
    take: (count: number, inspect: (body: Buffer) => void = () => {}): Promise<void> =>
      new Promise((resolve, reject) => {
        let taken = 0
        const late = setTimeout(() => reject(new Error(`${taken} of ${count} messages`)), 5_000)
        onMessage = body => {
          inspect(body)
          if (++taken < count) return
          clearTimeout(late)
          resolve()
        }
      }),
    close: (): void => void socket.destroy(),
  }
}

type Notification = {
  readonly params: {
    readonly result: { readonly context: { slot: number }; readonly value: { lamports: number } }
    readonly subscription: number
  }
}

type Listener = Awaited<ReturnType<typeof openListener>>

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
    const reply = listener.take(1, body => {
      const results = JSON.parse(body.toString()) as readonly { readonly result: number }[]
      for (const { result } of results) ids.push(result)
    })
    listener.send(JSON.stringify(calls))
    await reply
  }
  return ids
}

/** How long after a block its subscribers are notified. */
export const benchNotifications = async (context: Context): Promise<void> => {
  const { plan, dir, upstreamPort, report, note } = context
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
  let listeners: readonly Listener[] = []
  let slot = 1
  const round = async (inspect?: (body: Buffer) => void): Promise<number> => {
    slot += 1
    const all = listeners.map(listener => listener.take(ACCOUNTS / listeners.length, inspect))
    applyBlock(indexer, slot)
    const startMs = performance.now()
    edge.send({ kind: 'committed', network: NETWORK, slot })
    await Promise.all(all)
    return performance.now() - startMs
  }
  const check = async (ids: ReadonlySet<number>): Promise<void> => {
    const seen = new Set<number>()
    await round(body => {
      const { params } = JSON.parse(body.toString()) as Notification
      const { result, subscription } = params
      if (!ids.has(subscription) || result.context.slot !== slot || result.value.lamports !== slot)
        throw new Error(`a wrong notification: ${body.toString()}`)
      seen.add(subscription)
    })
    if (seen.size !== ACCOUNTS) throw new Error(`${seen.size} different notifications`)
  }
  try {
    for (const sockets of SPREADS) {
      const { port, path } = edge.target
      listeners = await Promise.all(
        Array.from({ length: sockets }, async () => openListener(port, path)),
      )
      const each = ACCOUNTS / sockets
      const ids = await Promise.all(
        listeners.map(async (listener, at) => subscribe(listener, at * each, each)),
      )
      await check(new Set(ids.flat()))
      const times: number[] = []
      for (let count = 0; count < plan.notifiedBlocks; count++) {
        times.push(await round())
        await new Promise(resolve => setTimeout(resolve, PAUSE_MS))
      }
      for (const listener of listeners) listener.close()
      times.sort((a, b) => a - b)
      const at = (share: number): number =>
        times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? NaN
      const over = sockets === 1 ? '' : ` over ${sockets} sockets`
      note(
        `${times.length} blocks, each with ${ACCOUNTS} accounts of 165 bytes, subscribed to on ` +
          (sockets === 1 ? 'one socket' : `${sockets} sockets`),
      )
      const name = `a commit to the last byte of ${ACCOUNTS} notifications${over}`
      report({ name: `${name}, p50`, value: at(0.5), unit: 'ms', better: 'lower' })
      report({
        name: `${name}, p99`,
        value: at(0.99),
        unit: 'ms',
        better: 'lower',
        target: P99_MS_MAX,
        isTail: true,
      })
    }
  } finally {
    for (const listener of listeners) listener.close()
    await edge.stop()
    indexer.close()
  }
}
