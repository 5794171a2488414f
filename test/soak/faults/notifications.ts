import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import {
  followChain,
  type ChainRecord,
  type RecordedSlot,
} from '../../fixtures/processes/chain-recorder.js'
import { startDeployment } from '../../fixtures/processes/deployment.js'
import {
  compareNotifications,
  receivedBy,
  SLOTS,
  toSpecs,
  type SubscriptionSpec,
} from '../../fixtures/processes/expected-notifications.js'
import { openSubscriber, toMembers, type Subscriber } from '../../fixtures/pubsub/subscriber.js'
import { isSoak } from '../../fixtures/soak.js'
import { until } from '../../fixtures/until.js'

const RUN_MS = isSoak ? 60_000 : 4_000
const SOCKETS = 5
const ARGS = ['--edges', '2', '--traffic', isSoak ? '200' : '50']

/** One connection: its subscriptions and all messages that it received. */
type SocketRecord = {
  readonly subscriber: Subscriber
  readonly ids: readonly (readonly [id: number, spec: SubscriptionSpec])[]
  readonly slotId: number
  readonly rootId: number
  /** Number of messages received before the last reply. */
  readonly early: number
}

const openSocket = async (
  url: string,
  specs: readonly SubscriptionSpec[],
): Promise<SocketRecord> => {
  const subscriber = await openSubscriber(url)
  const ids: (readonly [number, SubscriptionSpec])[] = []
  for (const spec of specs) ids.push([await subscriber.subscribe(spec.method, spec.params), spec])
  const rootId = await subscriber.subscribe('rootSubscribe')
  const slotId = await subscriber.subscribe(SLOTS.method, SLOTS.params)
  return { subscriber, ids, slotId, rootId, early: subscriber.order.lastIndexOf('reply') }
}

/** Keeps one socket open for each part of the specs, and replaces it when it closes. */
const keepSocketOpen = (url: string, specs: readonly SubscriptionSpec[]) => {
  const sockets: SocketRecord[] = []
  let isStopped = false
  const run = async (): Promise<void> => {
    while (!isStopped) {
      try {
        const socket = await openSocket(url, specs)
        sockets.push(socket)
        await socket.subscriber.ended
      } catch (error) {
        // An edge that ends while a client subscribes closes the socket, too.
        if (!String(error).includes('closed with')) throw error
        await sleep(20)
      }
    }
  }
  const ended = run()
  return {
    sockets,
    stop: async () => {
      isStopped = true
      sockets.at(-1)?.subscriber.close()
      await ended
    },
  }
}

/**
 * Slots that a connection must have received completely: after its first and before its last one.
 */
const windowOf = ({ subscriber, slotId }: SocketRecord): readonly [number, number] | undefined => {
  const slots = receivedBy(subscriber.notifications, slotId, SLOTS).map(([slot]) => slot)
  const [first] = slots
  const last = slots.at(-1)
  return first === undefined || last === undefined || last - first < 2
    ? undefined
    : [first + 1, last - 1]
}

const checkRoots = async (
  record: ChainRecord,
  { subscriber, rootId, slotId }: SocketRecord,
): Promise<readonly string[]> => {
  const faults: string[] = []
  const roots = subscriber.notifications
    .filter(({ subscription }) => subscription === rootId)
    .map(({ result }) => Number(result))
  const last = roots.at(-1)
  if (last !== undefined)
    await until(`slot ${last} of the chain is final`, () => record.finalized.includes(last))
  const from = record.finalized.indexOf(roots[0] ?? -1)
  const expected = record.finalized.slice(from, from + roots.length)
  if (roots.length > 0 && expected.join() !== roots.join())
    faults.push(`roots ${roots.join()} instead of ${expected.join()}`)
  let before = 0
  for (const { subscription, result } of subscriber.notifications) {
    if (subscription !== slotId) continue
    const { slot, root } = toMembers(result)
    if (Number(root) < before || Number(root) > Number(slot)) faults.push(`root ${String(root)}`)
    before = Number(root)
  }
  return faults
}

t.test('notifications equal the chain’s changes across the end of each edge', async t => {
  t.setTimeout(RUN_MS + 120_000)
  const { description, pidsOf, stop } = await startDeployment(t, { args: ARGS })
  const record = followChain(description.geyserUrl)
  t.teardown(() => record.close())
  const isBusy = ({ transactions }: RecordedSlot): boolean => transactions.length > 0
  await until('traffic', () => [...record.slots.values()].filter(isBusy).length >= 5)
  const specs = toSpecs(record, description.samples['mint'] ?? '')
  t.equal(specs.length, 48)
  const share = Math.ceil(specs.length / SOCKETS)
  const clients = Array.from({ length: SOCKETS }, (_, index) =>
    keepSocketOpen(description.locations[0].wsUrl, specs.slice(index * share, (index + 1) * share)),
  )
  const isListening = (): boolean =>
    clients.every(({ sockets }) => {
      const socket = sockets.at(-1)
      return socket !== undefined && !socket.subscriber.isEnded() && windowOf(socket) !== undefined
    })
  await until('every client receives notifications', isListening)

  const [one = 0, other = 0] = pidsOf('edge')
  await sleep(RUN_MS / 4)
  // After a stop of one second notifications are late but complete.
  process.kill(one, 'SIGSTOP')
  await sleep(1_000)
  process.kill(one, 'SIGCONT')
  await sleep(RUN_MS / 4)
  process.kill(one, 'SIGKILL')
  await until('two edges', () => pidsOf('edge').filter(pid => pid !== one).length === 2)
  await until('every client receives notifications again', isListening)
  await sleep(RUN_MS / 4)
  process.kill(other, 'SIGKILL')
  await until('two edges', () => pidsOf('edge').filter(pid => pid !== other).length === 2)
  await until('every client receives notifications again', isListening)
  await sleep(RUN_MS / 4)
  await Promise.all(clients.map(client => client.stop()))

  const sockets = clients.flatMap(client => client.sockets)
  t.ok(
    clients.every(client => client.sockets.length > 1),
    'each client was on an edge that ended, and reconnected',
  )
  const faults: string[] = []
  let frames = 0
  let slots = 0
  for (const socket of sockets) {
    const window = windowOf(socket)
    if (window === undefined) continue
    const [, toSlot] = window
    await until(`slot ${toSlot} of the chain`, () => record.isWhole(toSlot))
    slots += toSlot - window[0] + 1
    for (const [id, spec] of [...socket.ids, [socket.slotId, SLOTS] as const]) {
      const received = receivedBy(socket.subscriber.notifications, id, spec)
      const compared = compareNotifications(record, spec, received, window)
      faults.push(...compared.faults)
      frames += compared.count
    }
    faults.push(...(await checkRoots(record, socket)))
  }
  t.comment(`${frames} frames, ${slots} slots of ${sockets.length} sockets`)
  t.strictSame(faults.slice(0, 10), [])
  t.ok(frames > RUN_MS / 2, `${frames} frames were compared`)
  t.equal(await stop(), 0)
})
