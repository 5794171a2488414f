/** What distinguishes one sender over QUIC from another. */
export type Preset = {
  readonly kind: 'quic-frame' | 'quic-tpu'
  /** ALPN. */
  readonly protocol: string
  /** SNI; absent is the host. */
  readonly serverName?: string
  readonly isAnswered: boolean
  /** The key of the service is a wallet, whose public key is the name in the certificate. */
  readonly isWallet?: boolean
  /** The shorter idle time of both sides counts. */
  readonly keepAliveMs: number
  readonly idleMs: number
}

const LUNAR_LANDER = {
  kind: 'quic-frame',
  protocol: 'lunar-lander-tpu',
  keepAliveMs: 2_000,
  idleMs: 6_000,
} as const

const TPU = { kind: 'quic-tpu', protocol: 'solana-tpu', isAnswered: false } as const

/** As the published client of each sender has them. */
const PRESETS = {
  'lunar-lander': { ...LUNAR_LANDER, isAnswered: true },
  'lunar-lander-one-way': { ...LUNAR_LANDER, isAnswered: false },
  astralane: {
    kind: 'quic-frame',
    protocol: 'astralane-tpu',
    serverName: 'astralane',
    isAnswered: false,
    keepAliveMs: 25_000,
    idleMs: 30_000,
  },
  soyas: {
    kind: 'quic-frame',
    protocol: 'solana-tpu',
    serverName: 'soyas-landing',
    isAnswered: false,
    isWallet: true,
    keepAliveMs: 25_000,
    idleMs: 300_000,
  },
  speedlanding: { ...TPU, serverName: 'speed-landing', keepAliveMs: 5_000, idleMs: 30_000 },
  solami: { ...TPU, serverName: 'solami-beam', keepAliveMs: 5_000, idleMs: 30_000 },
  tpu: { ...TPU, keepAliveMs: 1_000, idleMs: 10_000 },
} as const satisfies Readonly<Record<string, Preset>>

export const PRESET_NAMES = Object.keys(PRESETS)

/** Undefined where there is no such preset. */
export const presetOf = (name: string): Preset | undefined =>
  Object.hasOwn(PRESETS, name) ? PRESETS[name as keyof typeof PRESETS] : undefined
