// Subscribers of every kind over WebSockets: each socket has one subscription of each.
import bs58 from 'bs58'
import { machineMs } from '../../clock.js'
import { onStart } from '../../child.js'
import {
  OWNER_AT,
  PAYERS,
  payerKey,
  PROGRAM,
  signatureOf,
  watchedKey,
} from '../../data/slot-messages.js'
import { openListener, type Listener } from './listener.js'
import { Samples } from './samples.js'

export type SlotSockets = {
  readonly port: number
  readonly path: string
  readonly count: number
  /** Whose signatures are subscribed to, some in each slot. */
  readonly signatureSlots: { readonly first: number; readonly count: number }
  readonly file: string
}
/** Sent to it: opens one more socket, which subscribes to all of a program and reads nothing. */
export type StopReading = { readonly stopReading: true }

/** Kinds by the method of their notifications. */
export const SOCKET_KINDS = [
  'account',
  'program',
  'logs',
  'transaction',
  'slot',
  'priorityFee',
  'tip',
  'signature',
] as const

/** Opened at once: more would be over the backlog of the listening socket. */
const TOGETHER = 50
/** `{"jsonrpc":"2.0","method":"` */
const METHOD_AT = 27
const SLOT = Buffer.from('"slot":')
const [ARRAY, QUOTE, ZERO, NINE] = ['[', '"', '0', '9'].map(one => one.charCodeAt(0)) as [
  number,
  number,
  number,
  number,
]

const KIND_OF = new Map(SOCKET_KINDS.map((kind, index) => [`${kind}Notification`, index]))

const slotOf = (body: Buffer, at: number): number => {
  let slot = 0
  for (let index = at + SLOT.length; ; index++) {
    const digit = body[index] ?? 0
    if (digit < ZERO || digit > NINE) return slot
    slot = slot * 10 + digit - ZERO
  }
}

const callsOf = (index: number, { first, count }: SlotSockets['signatureSlots'], of: number) => {
  const payer = bs58.encode(payerKey(index % PAYERS))
  const each = Math.ceil(of / count)
  const signature = signatureOf(first + Math.floor(index / each), index % each)
  const base64 = { encoding: 'base64' }
  const filters = [{ memcmp: { offset: OWNER_AT, bytes: bs58.encode(watchedKey(index)) } }]
  const calls: readonly (readonly [string, readonly unknown[]])[] = [
    ['accountSubscribe', [bs58.encode(watchedKey(index)), base64]],
    ['programSubscribe', [bs58.encode(PROGRAM), { ...base64, filters }]],
    ['logsSubscribe', [{ mentions: [payer] }]],
    ['transactionSubscribe', [{ accountInclude: [payer] }, { maxSupportedTransactionVersion: 0 }]],
    ['slotSubscribe', []],
    ['priorityFeeSubscribe', [{ accountKeys: [bs58.encode(PROGRAM)] }]],
    ['tipSubscribe', []],
    ['signatureSubscribe', [bs58.encode(signature), { commitment: 'confirmed' }]],
  ]
  return calls.map(([method, params], id) => ({ jsonrpc: '2.0', id, method, params }))
}

const subscribe = (listener: Listener, calls: readonly object[]): Promise<void> =>
  new Promise((resolve, reject) => {
    const onNotification = listener.onMessage
    listener.onMessage = body => {
      if (body[0] !== ARRAY) return onNotification(body)
      listener.onMessage = onNotification
      const failed = (JSON.parse(body.toString()) as readonly { readonly error?: object }[]).find(
        ({ error }) => error !== undefined,
      )
      if (failed === undefined) resolve()
      else reject(new Error(JSON.stringify(failed)))
    }
    listener.send(JSON.stringify(calls))
  })

onStart<SlotSockets, null>(async ({ port, path, count, signatureSlots, file }) => {
  const samples = new Samples(file)
  const onMessage = (body: Buffer): void => {
    const ms = machineMs()
    const kind = KIND_OF.get(body.toString('latin1', METHOD_AT, body.indexOf(QUOTE, METHOD_AT)))
    if (kind === undefined) throw new Error(`no notification: ${body.toString().slice(0, 200)}`)
    // A transaction has its slot behind itself.
    const isLast = SOCKET_KINDS[kind] === 'transaction'
    samples.add(kind, slotOf(body, isLast ? body.lastIndexOf(SLOT) : body.indexOf(SLOT)), ms)
  }
  for (let first = 0; first < count; first += TOGETHER)
    await Promise.all(
      Array.from({ length: Math.min(TOGETHER, count - first) }, async (_, nth) => {
        const listener = await openListener(port, path)
        listener.onMessage = onMessage
        await subscribe(listener, callsOf(first + nth, signatureSlots, count))
      }),
    )
  process.on('message', message => {
    if (!('stopReading' in Object(message))) return
    void openListener(port, path).then(async listener => {
      const params = [bs58.encode(PROGRAM), { encoding: 'base64' }]
      await subscribe(listener, [{ jsonrpc: '2.0', id: 0, method: 'programSubscribe', params }])
      listener.pause()
    })
  })
  return null
})
