import type { QuicPreset } from './preset-names.js'
import {
  type QuicAnswers,
  FALCON_ANSWERS,
  LUNAR_LANDER_ANSWERS,
  NODE1_ANSWERS,
} from './quic-answers.js'

/** What distinguishes one sender over QUIC from another. */
export type Preset = {
  readonly kind: 'quic-frame' | 'quic-tpu'
  /** ALPN; empty for none. */
  readonly protocol: string
  /** SNI; absent is the host. */
  readonly serverName?: string
  /** What the credential of the service is. */
  readonly credential: 'text' | 'uuid' | 'uuid4' | 'keypair' | 'pem'
  /**
   * Where the peer finds it: as the name in a certificate, or that of a wallet; in the certificate
   * of a node, or one that the peer has issued; on the first stream of a connection, which is
   * answered with a zero, or has a byte of flags in the place of an answer.
   */
  readonly shown:
    | 'name'
    | 'ed25519-name'
    | 'wallet'
    | 'node'
    | 'issued'
    | 'first-stream'
    | 'first-stream-with-flags'
  /** A byte before each transaction. */
  readonly prefix?: number
  /** How a stream is answered; absent where it is not. */
  readonly answers?: QuicAnswers
  /** The shorter idle time of both sides counts. */
  readonly keepAliveMs: number
  readonly idleMs: number
}

const FRAME = { kind: 'quic-frame', credential: 'text', shown: 'name' } as const

const LUNAR_LANDER = {
  ...FRAME,
  protocol: 'lunar-lander-tpu',
  keepAliveMs: 2_000,
  idleMs: 6_000,
} as const

const FALCON = {
  kind: 'quic-frame',
  protocol: 'falcon-tx',
  serverName: 'falcon',
  credential: 'uuid',
  shown: 'ed25519-name',
  keepAliveMs: 10_000,
  idleMs: 30_000,
} as const

const TPU = {
  kind: 'quic-tpu',
  protocol: 'solana-tpu',
  credential: 'keypair',
  shown: 'node',
} as const

/** As the published client of each sender has them. */
const PRESETS = {
  'lunar-lander': { ...LUNAR_LANDER, answers: LUNAR_LANDER_ANSWERS },
  'lunar-lander-one-way': LUNAR_LANDER,
  astralane: {
    ...FRAME,
    protocol: 'astralane-tpu',
    serverName: 'astralane',
    keepAliveMs: 25_000,
    idleMs: 30_000,
  },
  soyas: {
    kind: 'quic-frame',
    protocol: 'solana-tpu',
    serverName: 'soyas-landing',
    credential: 'keypair',
    shown: 'wallet',
    keepAliveMs: 25_000,
    idleMs: 300_000,
  },
  nextblock: {
    ...FRAME,
    protocol: 'nb-tx/1',
    shown: 'first-stream',
    keepAliveMs: 15_000,
    idleMs: 60_000,
  },
  node1: {
    kind: 'quic-frame',
    protocol: '',
    credential: 'uuid',
    shown: 'first-stream',
    answers: NODE1_ANSWERS,
    keepAliveMs: 15_000,
    idleMs: 60_000,
  },
  glaive: {
    kind: 'quic-frame',
    protocol: 'solana-tpu',
    serverName: 'glaive-intake',
    credential: 'uuid4',
    shown: 'first-stream-with-flags',
    keepAliveMs: 10_000,
    idleMs: 30_000,
  },
  falcon: { ...FALCON, prefix: 1, answers: FALCON_ANSWERS },
  'falcon-one-way': FALCON,
  bloxroute: {
    kind: 'quic-frame',
    protocol: 'solana-trader-submit-v1',
    credential: 'pem',
    shown: 'issued',
    keepAliveMs: 5_000,
    idleMs: 30_000,
  },
  speedlanding: { ...TPU, serverName: 'speed-landing', keepAliveMs: 5_000, idleMs: 30_000 },
  solami: { ...TPU, serverName: 'solami-beam', keepAliveMs: 5_000, idleMs: 30_000 },
  tpu: { ...TPU, keepAliveMs: 1_000, idleMs: 10_000 },
} as const satisfies Readonly<Record<QuicPreset, Preset>>

/** Undefined where there is no such preset. */
export const presetOf = (name: string): Preset | undefined =>
  Object.hasOwn(PRESETS, name) ? PRESETS[name as keyof typeof PRESETS] : undefined
