import { randomBytes } from 'node:crypto'
import t from 'tap'
import {
  REMEMBERED_MS,
  SentTransactions,
  type SentTransaction,
} from '../../../src/submission/lander/sent-transactions.js'
import type { EngineAnswer } from '../../../src/submission/relay/engine-answer.js'
import { NotBegun } from '../../../src/submission/single-flight.js'
import { PENDING } from '../../fixtures/submission/submission.js'

const ACCEPTED: EngineAnswer = { outcome: 'accepted', result: null, error: null, engine: null }

const of = (accessId: string, name: string, more: Partial<SentTransaction> = {}) => ({
  accessId,
  network: 'main',
  signature: `signature of ${name}`,
  bytes: Buffer.from(name),
  ...more,
})

const open = (parts: { readonly bytesMax?: number; readonly mayBegin?: () => boolean } = {}) => {
  let nowMs = 0
  let sentCount = 0
  const sent = new SentTransactions({ mayBegin: () => true, now: () => nowMs, ...parts })
  const send = (transaction: SentTransaction, answer: EngineAnswer | 'ended' = ACCEPTED) =>
    sent.run(transaction, async () => {
      sentCount++
      return answer
    })
  return {
    sent,
    send,
    /** How often it was sent. */
    count: () => sentCount,
    wait: (ms: number) => {
      nowMs += ms
    },
  }
}

t.test('what differs in access, network or bytes is another one', async t => {
  const { count, send } = open()
  const one = of('a', 'x')
  await send(one)
  t.match(await send(one), { isRepeat: true, sent: ACCEPTED })
  t.equal(count(), 1)
  for (const other of [
    of('b', 'x'),
    of('a', 'x', { network: 'test' }),
    of('a', 'x', { bytes: Buffer.from('x with another second signature') }),
  ])
    t.match(await send(other), { isRepeat: false })
  t.equal(count(), 4)
})

t.test('it is remembered for 90 s, at another sender for the rest of them', async t => {
  const first = open()
  await first.send(of('a', 'x'))
  first.wait(REMEMBERED_MS - 2)
  const next = open()
  for (const one of first.sent.remembered()) next.sent.remember(one)
  t.match(await next.send(of('a', 'x')), { isRepeat: true })
  next.wait(1)
  t.match(await next.send(of('a', 'x')), { isRepeat: true })
  next.wait(1)
  t.match(await next.send(of('a', 'x')), { isRepeat: false })
  first.wait(2)
  t.strictSame([...first.sent.remembered()], [])
})

t.test('what nobody took is sent again', async t => {
  const { send } = open()
  for (const outcome of ['full', 'unreachable'] as const) {
    const answer = { ...ACCEPTED, outcome }
    t.match(await send(of('a', outcome), answer), { isRepeat: false, sent: answer })
    t.match(await send(of('a', outcome)), { isRepeat: false, sent: ACCEPTED })
  }
  t.equal(await send(of('a', 'ended'), 'ended'), 'ended')
  const both = [send(of('a', 'both'), 'ended'), send(of('a', 'both'))] as const
  t.equal(await both[0], 'ended')
  t.match(await both[1], { isRepeat: false }, 'one that waited for it is sent itself')
})

t.test('a fault of the first is that of those that waited, and of no later one', async t => {
  const { sent, send } = open()
  const fault = new Error('a fault')
  const fail = () => sent.run(of('a', 'x'), () => Promise.reject(fault))
  await Promise.all([t.rejects(fail(), fault), t.rejects(send(of('a', 'x')), fault)])
  t.match(await send(of('a', 'x')), { isRepeat: false })
})

t.test('a sender that is replaced begins nothing, and tells what it has', async t => {
  let mayBegin = true
  const former = open({ mayBegin: () => mayBegin })
  let end = (_: EngineAnswer): void => {}
  const answer = new Promise<EngineAnswer>(resolve => {
    end = resolve
  })
  const first = former.sent.run(of('a', 'x'), () => answer)
  mayBegin = false
  await t.rejects(former.send(of('a', 'y')), new NotBegun())
  const next = open()
  for (const [key, result] of former.sent.inFlight()) t.ok(next.sent.adopt(key, result))
  t.notOk(next.sent.adopt('ab'.repeat(32), Promise.resolve('unknown')), 'a bundle')
  const repeat = next.send(of('a', 'x'))
  end(ACCEPTED)
  t.match(await first, { isRepeat: false })
  t.match(await repeat, { isRepeat: true, sent: ACCEPTED })
  t.equal(next.count(), 0)
})

t.test('records of a sender that was killed are known by their signature', async t => {
  const { sent, send } = open()
  const record = { ...PENDING, accessId: 'a', route: '/send' } as const
  for (const outcome of ['accepted', 'pending', 'refused', 'invalid', 'full'] as const)
    sent.recover({ ...record, outcome, signatures: [`signature of ${outcome}`] })
  sent.recover({ ...record, route: '/lander', signatures: ['signature of other'] })
  sent.recover({ ...record, signatures: [] })
  t.match(await send(of('a', 'accepted')), { isRepeat: true, sent: { outcome: 'accepted' } })
  t.match(await send(of('a', 'pending')), { isRepeat: true, sent: { outcome: 'unknown' } })
  for (const name of ['refused', 'invalid', 'full', 'other'])
    t.match(await send(of('a', name)), { isRepeat: false }, name)
})

t.test('many of one access displace its own only', async t => {
  const { send, sent } = open({ bytesMax: 100 * 512 })
  await send(of('quiet', 'x'))
  const words = 'w'.repeat(1_024)
  for (let index = 0; index < 1_000; index++)
    await send(of('loud', `${index}`, { bytes: randomBytes(200) }), {
      ...ACCEPTED,
      outcome: 'refused',
      engine: { status: 400, words },
    })
  t.match(await send(of('quiet', 'x')), { isRepeat: true })
  const kept = [...sent.remembered()].filter(({ accessId }) => accessId === 'loud').length
  t.ok(kept > 10 && kept < 100, `${kept} of 1,000 are remembered`)
})
