import t, { type Test } from 'tap'
import type { Refusal } from '../../../src/access/authenticate.js'
import { GrpcCalls } from '../../../src/edge/grpc/calls.js'
import type { GrpcEvent } from '../../../src/native/server/grpc-server.js'
import type { Grant } from '../../../src/shared/grant.js'
import { createLog } from '../../../src/shared/log.js'
import { NOW_MS, openUsageLimiter } from '../../fixtures/access/access.js'
import { GRANT } from '../../fixtures/edge/sockets.js'

/** Calls of which a test decides what a token is, and notes what the server is asked to do. */
const openCalls = (t: Test) => {
  const notes: string[] = []
  const lines: string[] = []
  const state = {
    answer: GRANT as Grant | Refusal | Error,
    version: 1,
    nowMs: NOW_MS,
    isThere: true,
  }
  const refused: string[] = []
  const limiter = openUsageLimiter(t.testdir())
  const calls = new GrpcCalls(
    {
      authenticate: () => {
        if (state.answer instanceof Error) throw state.answer
        return state.answer
      },
      limiter,
      version: () => state.version,
      now: () => state.nowMs,
      onRefusal: reason => refused.push(reason),
      log: createLog('geyser', line => lines.push(line)),
      locations: ['fra'],
      networks: ['other', 'main'],
    },
    {
      admit: (call, { network, filtersMax }) => {
        notes.push(`admit ${call} ${network} ${filtersMax}`)
        return state.isThere
      },
      refuse: (call, reason) => notes.push(`refuse ${call} ${reason}`),
      closeStream: (call, reason) => notes.push(`close ${call} ${reason}`),
    },
  )
  const ask = (call: number, isStream = true): GrpcEvent => ({
    kind: 'call',
    call,
    listener: 0,
    address: Uint8Array.of(1, 1, 1, 1),
    token: 'token',
    method: isStream ? 'Subscribe' : 'GetSlot',
    isStream,
  })
  return {
    state,
    refused,
    lines,
    /** What was done since the last look. */
    took: () => notes.splice(0),
    call: (number: number, isStream?: boolean) => calls.handle(ask(number, isStream)),
    end: (number: number) => calls.handle({ kind: 'ended', call: number }),
    revalidate: () => calls.revalidateAll(),
    openSockets: () => limiter.openSockets(limiter.principalOf(GRANT)),
  }
}

t.test('a stream takes the place of a WebSocket until it ends', t => {
  const { call, end, openSockets, state, took } = openCalls(t)
  const grant = { ...GRANT, limits: { ...GRANT.limits, socketsMax: 2 } }
  state.answer = grant
  for (const number of [1, 2, 3]) call(number)
  t.strictSame(took(), ['admit 1 1 100', 'admit 2 1 100', 'refuse 3 streams'])
  t.equal(openSockets(), 2)
  end(1)
  end(1)
  t.equal(openSockets(), 1)
  state.isThere = false
  call(4)
  t.equal(openSockets(), 1, 'a client that has left takes no place')
  state.isThere = true
  call(5, false)
  t.strictSame(took(), ['admit 4 1 100', 'admit 5 1 100'])
  t.equal(openSockets(), 1, 'nor does a call that is answered at once')
  t.end()
})

t.test('a refused token is a status that clients try again, or not', t => {
  const { call, refused, state, took } = openCalls(t)
  const reasons = ['malformed', 'unknown', 'address', 'early', 'ended', 'leaseExpired'] as const
  for (const [index, reason] of reasons.entries()) {
    state.answer = { reason }
    call(index)
  }
  t.strictSame(took(), [
    'refuse 0 unauthenticated',
    'refuse 1 unauthenticated',
    'refuse 2 address',
    'refuse 3 ended',
    'refuse 4 ended',
    'refuse 5 unavailable',
  ])
  t.equal(refused.length, 6)
  state.answer = new Error('the store is broken')
  call(9)
  t.strictSame(took(), ['refuse 9 unavailable'])
  t.end()
})

t.test('streams are revalidated, and end for the reason of their token', t => {
  const { call, end, openSockets, revalidate, state, took } = openCalls(t)
  const endings: [answer: Refusal | Error, reason: string][] = [
    [{ reason: 'replaced' }, 'unauthenticated'],
    [{ reason: 'address' }, 'address'],
    [{ reason: 'ended' }, 'ended'],
    [{ reason: 'leaseExpired' }, 'unavailable'],
    [new Error('the store is broken'), 'unavailable'],
  ]
  for (const [index, [answer, reason]] of endings.entries()) {
    state.answer = GRANT
    call(index)
    took()
    revalidate()
    t.strictSame(took(), [], 'nothing has changed')
    state.version++
    revalidate()
    t.strictSame(took(), [], 'it is still valid')
    state.version++
    state.answer = answer
    revalidate()
    t.strictSame(took(), [`close ${index} ${reason}`])
    revalidate()
    t.strictSame(took(), [], 'once')
    end(index)
  }
  t.equal(openSockets(), 0)
  t.end()
})

t.test('smaller limits end the newest streams', t => {
  const { call, revalidate, state, took } = openCalls(t)
  for (const number of [1, 2, 3]) call(number)
  took()
  state.answer = { ...GRANT, limits: { ...GRANT.limits, socketsMax: 1 } }
  state.version++
  revalidate()
  t.strictSame(took(), ['close 3 streams', 'close 2 streams'])
  t.end()
})

t.test('an access that ends by the clock ends its streams', t => {
  const { call, revalidate, state, took } = openCalls(t)
  state.answer = { ...GRANT, validUntilMs: NOW_MS + 5 }
  call(1)
  took()
  state.answer = { reason: 'ended' }
  revalidate()
  t.strictSame(took(), [])
  state.nowMs += 5
  revalidate()
  t.strictSame(took(), ['close 1 ended'])
  t.end()
})
