import bs58 from 'bs58'
import t from 'tap'
import { createKeypair } from '../../../src/sandbox/solana/keypair.js'
import { buildPeer, openQuicPeer, type QuicPeer } from '../../fixtures/lanes/quic-peer.js'
import {
  laneOf,
  LANE_KEY,
  lanesOf,
  openRacing,
  OTHER_SIGNATURE,
  type TestLane,
} from '../../fixtures/lanes/racing.js'
import { signatureOf } from '../../fixtures/submission/transactions.js'
import { FLOOR, tipping } from '../../fixtures/sandbox/tipping.js'
import { isSoak } from '../../fixtures/soak.js'
import { until } from '../../fixtures/until.js'

// The peer is a program in Rust: built by `npm run soak`, or named here.
const { SLOTLINE_QUIC_PEER: given = '' } = process.env
const program = given === '' && isSoak ? buildPeer() : given
const skip = program === '' && 'SLOTLINE_QUIC_PEER names no peer; `npm run soak` builds one'

const frameLane = ({ port }: QuicPeer, more: object = {}): TestLane => ({
  id: 'quic',
  kind: 'quic-frame' as never,
  preset: 'lunar-lander',
  url: `quic://127.0.0.1:${port}`,
  credential: LANE_KEY,
  pingPath: '',
  ...more,
})

const count = ({ lines }: QuicPeer, word: string): number =>
  lines.filter(line => line.startsWith(`${word} `)).length

t.test('a race over QUIC is answered by the frame of its peer', { skip }, async t => {
  const peer = await openQuicPeer(t, program)
  const { edge, post, recordOf } = await openRacing(t, [frameLane(peer, { isProtected: true })])
  await until('the lane is connected', () => count(peer, 'connection') === 1)
  const [, protocol, name, certificate = ''] = peer.lines[1]?.split(' ') ?? []
  t.equal(protocol, 'lunar-lander-tpu')
  t.equal(name, '')
  const key = Buffer.from(LANE_KEY)
  t.match(certificate, Buffer.concat([Buffer.of(0x0c, key.length), key]).toString('hex'))
  t.match(certificate, '060488370101', 'protection is asked for')
  await until('it is known here', async () => (await edge.metrics()).includes(CONNECTED))

  const cases: [mode: (signature: string) => string, status: number, lane: object][] = [
    [signature => `answer 200 ${signature}`, 200, { outcome: 'accepted', hasSignature: true }],
    [() => 'answer 200', 200, { outcome: 'accepted', hasSignature: false }],
    [() => 'answer 400 tip required', 400, { outcome: 'refused', words: 'tip required' }],
    [() => 'answer 429 rate limit exceeded', 429, { outcome: 'full', status: 429 }],
    [() => 'answer 419 slow down', 429, { outcome: 'full', status: 419 }],
    [() => `answer 200 ${OTHER_SIGNATURE}`, 504, { outcome: 'unknown' }],
    [() => `answer 403 ${LANE_KEY}`, 400, { outcome: 'refused', words: '[redacted]' }],
    [() => 'answer 500 ok', 504, { outcome: 'unknown', status: 500 }],
    [() => 'reset', 504, { outcome: 'unknown', words: 'reset with 1' }],
  ]
  for (const [mode, status, lane] of cases) {
    const one = tipping([FLOOR, 0])
    await peer.become(mode(signatureOf(one)))
    const reply = await post(one)
    t.equal(reply.status, status, mode('signature'))
    const record = await recordOf(one)
    t.match(laneOf(record.lanes, 'quic'), lane)
    t.ok(peer.lines.includes(`bi ${one.toString('hex')}`), 'its bytes have come')
    t.ok(Number(laneOf(record.lanes, 'quic')?.writtenAfterMs) < 1_000)
  }
  t.equal(count(peer, 'bi'), cases.length, 'each was written once')
  t.equal(count(peer, 'connection'), 1, 'on one connection')
  t.notMatch(edge.lines.join('\n'), LANE_KEY)
  t.notMatch(await edge.metrics(), LANE_KEY)
})

const CONNECTED = 'slotline_lane_connected{process="edge 0",network="main",lane="quic"} 1'

t.test('a peer that closes, is killed and comes back costs no race', { skip }, async t => {
  const peer = await openQuicPeer(t, program)
  const { edge, post, recordOf } = await openRacing(t, [
    frameLane(peer, { pauseMinMs: 20, pauseMaxMs: 100 }),
    { id: 'http' },
  ])
  const isUp = async (): Promise<boolean> => (await edge.metrics()).includes(CONNECTED)
  await until('it is connected', isUp)
  await peer.become(`close no ${LANE_KEY}`)
  const one = tipping([FLOOR, 0])
  t.match(await post(one), { status: 200, text: signatureOf(one) }, 'by the other lane')
  t.match(laneOf((await recordOf(one)).lanes, 'quic'), {
    outcome: 'unknown',
    words: 'closed with 1: no [redacted]',
  })
  await until('it is connected again', isUp)
  t.equal(count(peer, 'bi'), 1, 'nothing is written again')
  await peer.become('silent')
  const slow = tipping([FLOOR, 0])
  t.equal((await post(slow)).status, 200)
  await peer.kill()
  t.match(laneOf((await recordOf(slow)).lanes, 'quic'), { outcome: 'unknown' })
  await until('it is known to be down', async () => !(await isUp()))
  const down = tipping([FLOOR, 0])
  t.equal(lanesOf(await post(down)), 'quic:left-out-down;http:accepted')
  const back = await openQuicPeer(t, program, peer.port)
  await until('it is connected to the next one', isUp)
  const last = tipping([FLOOR, 0])
  t.equal((await post(last)).status, 200)
  await until('it has the last one', () => back.lines.includes(`bi ${last.toString('hex')}`))
  t.notMatch(edge.lines.join('\n'), LANE_KEY)
})

t.test('lanes of each kind are written to within a millisecond', { skip }, async t => {
  const peer = await openQuicPeer(t, program)
  const { edge, post, recordOf } = await openRacing(t, [
    frameLane(peer),
    frameLane(peer, { id: 'one-way', preset: 'lunar-lander-one-way' }),
    { id: 'rpc' },
    { id: 'octets', kind: 'octets' },
    { id: 'text', kind: 'text' },
  ])
  await until('both are connected', async () => {
    const page = await edge.metrics()
    return page.includes(CONNECTED) && page.includes(CONNECTED.replace('"quic"', '"one-way"'))
  })
  const spreads: number[] = []
  for (let nth = 0; nth < 50; nth++) {
    const one = tipping([FLOOR, 0])
    t.equal((await post(one)).status, 200)
    const { lanes = [] } = await recordOf(one)
    t.equal(laneOf(lanes, 'one-way')?.outcome, 'written')
    const times = lanes.map(({ writtenAfterMs }) => writtenAfterMs ?? NaN)
    spreads.push(Math.max(...times) - Math.min(...times))
  }
  await until('the streams without answers have come', () => count(peer, 'uni') === 50)
  spreads.sort((one, other) => one - other)
  t.comment(`between the first and the last: ${spreads[25]} ms, p90 ${spreads[45]} ms`)
  t.ok((spreads[25] ?? NaN) <= 1)
})

t.test('lanes introduce themselves as sol-trade-sdk 11.0.1 does', { skip }, async t => {
  const seed = Buffer.alloc(32, 7)
  const { publicKey } = createKeypair(seed)
  const wallet = bs58.encode(Buffer.concat([seed, publicKey]))
  const named = (name: string) =>
    Buffer.concat([Buffer.of(0x0c, name.length), Buffer.from(name)]).toString('hex')
  const node = `0c0b${Buffer.from('Solana node').toString('hex')}`
  /** ALPN, SNI and name of the certificate, as they were recorded from the SDK. */
  const recorded: [preset: string, credential: string, shown: [string, string, string]][] = [
    ['astralane', LANE_KEY, ['astralane-tpu', 'astralane', named(LANE_KEY)]],
    ['soyas', wallet, ['solana-tpu', 'soyas-landing', named(bs58.encode(publicKey))]],
    ['speedlanding', wallet, ['solana-tpu', 'speed-landing', node]],
    ['solami', wallet, ['solana-tpu', 'solami-beam', node]],
  ]
  for (const [preset, credential, [protocol, name, subject]] of recorded) {
    const peer = await openQuicPeer(t, program)
    const kind = subject === node ? 'quic-tpu' : 'quic-frame'
    const lane = frameLane(peer, { kind, preset, credential })
    const { post } = await openRacing(t, [lane, { id: 'http' }])
    await until('the lane is connected', () => count(peer, 'connection') === 1)
    const [, ...shown] = peer.lines[1]?.split(' ') ?? []
    t.strictSame(shown.slice(0, 2), [protocol, name], preset)
    t.match(shown[2], subject, preset)
    t.notMatch(shown[2], seed.toString('hex'), `${preset}: no secret`)
    await until('it is used', async () => {
      const one = tipping([FLOOR, 0])
      await post(one)
      return peer.lines.includes(`uni ${one.toString('hex')}`)
    })
  }
})
