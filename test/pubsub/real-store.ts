import bs58 from 'bs58'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import t, { type Test } from 'tap'
import { defaults } from '../../src/pubsub/options.js'
import { PubSub } from '../../src/pubsub/pubsub.js'
import { createFakeTimers } from '../fixtures/fake-timers.js'
import { createFakeSockets } from '../fixtures/pubsub/fake-socket.js'
import { openStore, STORE } from '../fixtures/rpc/store.js'
import { toMembers } from '../fixtures/pubsub/subscriber.js'
import { until } from '../fixtures/until.js'

const bytes = (byte: number): Uint8Array => new Uint8Array(32).fill(byte)
/** By the slot time that is assumed before blocks show another one. */
const SLOTS_KEPT = STORE.feedMs / 200
const KEYS = [1, 2, 3, 4, 5]
const PROGRAM = 9

/** What a block writes: lamports by account; 0 closes it. */
type Writes = ReadonlyMap<number, number>

/** A real store with the subscriptions that follow it. */
const openHarness = (t: Test) => {
  const { indexer, reader } = openStore(t)
  let slot = 0
  const apply = (writes: Writes): number => {
    slot += 1
    indexer.applyBlock({
      slot,
      parentSlot: slot - 1,
      blockhash: bytes(slot % 256),
      parentBlockhash: bytes((slot - 1) % 256),
      blockHeight: slot,
      accounts: Array.from(writes, ([key, lamports]) => ({
        pubkey: bytes(key),
        lamports: BigInt(lamports),
        rentEpoch: 0n,
        executable: false,
        owner: bytes(PROGRAM),
        data: Buffer.from([key]),
      })),
    })
    return slot
  }
  apply(new Map())

  const follow = () => {
    const sockets = createFakeSockets()
    const faults: unknown[] = []
    const pubsub = new PubSub({
      network: 'main',
      transactions: 'logs',
      options: { ...defaults, chunkBytesMax: 512 },
      publish: sockets.publish,
      timers: createFakeTimers(),
      onDamaged: slot => faults.push(slot),
      onFault: fault => faults.push(fault),
    })
    pubsub.replaceStore(() => reader.openFanout({ subscriptionsMax: 1_000, chunkBytesMax: 512 }))
    const connect = () => {
      const own = sockets.open()
      const connection = pubsub.connect(own.socket, {
        accessId: 'acc_1',
        subscriptionsMax: 100,
        onExceeded: () => {},
      })
      const call = (method: string, params: unknown = []): number => {
        const message = {}
        const result = connection.call(method, params, message)
        connection.afterReply(message)
        return Number(result)
      }
      const frames = () =>
        own.received.map(text => toMembers(toMembers(JSON.parse(text))['params']))
      return {
        call,
        frames,
        closed: () => own.closed,
        close: () => {
          connection.close()
          own.socket.close(1012, 'restart')
        },
      }
    }
    return { pubsub, faults, connect }
  }
  return { apply, follow }
}

type Socket = ReturnType<ReturnType<ReturnType<typeof openHarness>['follow']>['connect']>

/** Whether the socket has a frame of this slot. */
const hasSlot = (socket: Socket, id: number, slot: number): boolean =>
  socket
    .frames()
    .some(({ subscription, result }) => subscription === id && toMembers(result)['slot'] === slot)

t.test('an edge that is behind the feed closes its sockets and recovers', async t => {
  const { apply, follow } = openHarness(t)
  const { pubsub, faults, connect } = follow()
  t.teardown(() => pubsub.close())
  const [one, other] = [connect(), connect()]
  const id = one.call('slotSubscribe')
  await until('the next slot', () => {
    pubsub.advance()
    return one.frames().length > 0 || hasSlot(one, id, apply(new Map()))
  })
  one.call('accountSubscribe', [bs58.encode(bytes(1))])
  for (let i = 0; i < SLOTS_KEPT + 2; i++) apply(new Map([[1, i + 1]]))
  pubsub.advance()
  await until('its end', () => one.closed() !== undefined)
  t.strictSame(one.closed(), { code: 1012, reason: 'missed slots' })
  t.equal(other.closed(), undefined)
  const again = other.call('slotSubscribe')
  const slot = apply(new Map())
  pubsub.advance()
  await until('a slot after it', () => hasSlot(other, again, slot))
  t.strictSame(faults, [])
})

type Subscription = { readonly kind: 'account' | 'program' | 'slot'; readonly key: number }

/** The frames that a block gives by one subscription. */
const expectedFrames = (
  { kind, key }: Subscription,
  slot: number,
  writes: Writes,
): readonly string[] => {
  if (kind === 'slot') return [`slot ${slot}`]
  return [...writes]
    .filter(([written, lamports]) => (kind === 'account' ? written === key : lamports > 0))
    .map(([written, lamports]) =>
      kind === 'account'
        ? `${slot} ${lamports}`
        : `${slot} ${bs58.encode(bytes(written))} ${lamports}`,
    )
}

/** A frame as `expectedFrames` writes it. */
const actualFrame = ({ kind }: Subscription, result: unknown): string => {
  const { context, value, slot } = toMembers(result)
  if (kind === 'slot') return `slot ${String(slot)}`
  const at = String(toMembers(context)['slot'])
  if (kind === 'account') return `${at} ${String(toMembers(value)['lamports'])}`
  const { pubkey, account } = toMembers(value)
  return `${at} ${String(pubkey)} ${String(toMembers(account)['lamports'])}`
}

const anyWrites = fc
  .array(fc.tuple(fc.constantFrom(...KEYS), fc.nat(3)), { maxLength: 6 })
  .map(pairs => new Map(pairs))
const anyStep = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      what: fc.constant('subscribe' as const),
      at: fc.nat(2),
      kind: fc.constantFrom<Subscription['kind']>('account', 'program', 'slot'),
      key: fc.constantFrom(...KEYS),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      what: fc.constant('unsubscribe' as const),
      at: fc.nat(2),
      pick: fc.nat(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('close' as const), at: fc.nat(2) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      what: fc.constant('blocks' as const),
      blocks: fc.array(anyWrites, { minLength: 1, maxLength: 5 }),
    }),
  },
)

t.test('every socket gets each change once', async t => {
  const { apply, follow } = openHarness(t)
  const steps = fc.array(anyStep, { maxLength: 30 })
  await fc.assert(
    fc.asyncProperty(steps, async steps => {
      const { pubsub, faults, connect } = follow()
      const watcher = connect()
      const watched = watcher.call('slotSubscribe')
      /** Waits until every socket has the frames of every block. */
      const settle = (slot: number): Promise<void> => {
        pubsub.advance()
        return until(`slot ${slot}`, () => hasSlot(watcher, watched, slot), 5_000)
      }
      // The first pass begins at the tip; from here on every block is delivered.
      await until('the first slot', () => {
        const slot = apply(new Map())
        pubsub.advance()
        return watcher.frames().length > 0 || hasSlot(watcher, watched, slot)
      })
      const open = () => ({
        socket: connect(),
        active: new Map<number, Subscription>(),
        should: new Map<number, string[]>(),
        kinds: new Map<number, Subscription>(),
      })
      const all = [open(), open(), open()]
      const check = ({ socket, should, kinds }: ReturnType<typeof open>): void => {
        const received = new Map<number, string[]>()
        for (const { subscription, result } of socket.frames()) {
          const subscribed = kinds.get(Number(subscription))
          assert.ok(subscribed, 'the frame is of its subscription')
          const lines = received.get(Number(subscription)) ?? []
          received.set(Number(subscription), [...lines, actualFrame(subscribed, result)])
        }
        for (const [id, lines] of should)
          assert.deepEqual((received.get(id) ?? []).sort(), lines.sort(), `of ${id}`)
      }
      let last = apply(new Map())
      await settle(last)
      for (const step of steps) {
        if (step.what === 'blocks') {
          for (const writes of step.blocks) {
            last = apply(writes)
            for (const { active, should } of all)
              for (const [id, what] of active)
                should.set(id, [...(should.get(id) ?? []), ...expectedFrames(what, last, writes)])
          }
          await settle(last)
          // Accounts follow the slot's own frame: the next slot's frame proves that all were sent.
          last = apply(new Map())
          for (const { active, should } of all)
            for (const [id, what] of active)
              should.set(id, [...(should.get(id) ?? []), ...expectedFrames(what, last, new Map())])
          await settle(last)
          continue
        }
        const at = all[step.at]
        if (at === undefined) continue
        if (step.what === 'subscribe') {
          const { kind, key } = step
          const params =
            kind === 'slot' ? [] : [bs58.encode(bytes(kind === 'program' ? PROGRAM : key))]
          const id = at.socket.call(`${kind}Subscribe`, params)
          at.active.set(id, { kind, key })
          at.kinds.set(id, { kind, key })
        } else if (step.what === 'unsubscribe') {
          const ids = [...at.active.keys()]
          const id = ids[step.pick % ids.length]
          if (id === undefined) continue
          at.socket.call('slotUnsubscribe', [id])
          at.active.delete(id)
        } else {
          check(at)
          at.socket.close()
          all[step.at] = open()
        }
      }
      await settle(last)
      for (const one of all) check(one)
      assert.deepEqual(faults, [])
      pubsub.close()
    }),
    { numRuns: 40 },
  )
})
