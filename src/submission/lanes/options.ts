import { credentialOptions } from '../../shared/options/credential.js'
import { type Declaration, defaultsOf } from '../../shared/options/declaration.js'
import { defaults as upstream } from '../../upstream/options.js'
import { JSON_PRESETS, QUIC_PRESETS } from './preset-names.js'

/** Options and constants of one lane. */
export type Options = Readonly<typeof defaults>

export const options = {
  preset: {
    default: 'none',
    words: ['none', ...QUIC_PRESETS, ...JSON_PRESETS],
    why: 'Of a QUIC kind and of json: which sender it is. Over QUIC it decides on ALPN, SNI, timers, where the credential is shown, and how a stream is answered; those that end in `-one-way` are without answers. none for the other kinds.',
  },
  ...credentialOptions,
  httpVersion: {
    default: '1.1',
    words: ['1.1', '2'],
    why: 'Of kinds over HTTP. With 2 all transactions share one connection, over TLS or with prior knowledge, which counts where a sender limits the connections of a key; 1.1 has two and more, and is faster for one transaction.',
  },
  pingPath: {
    default: '',
    why: 'Requested from the host of the URL with GET on each warm connection. Empty sends no pings, so that a lane without traffic may be cold; one over HTTP/2 has PING frames then.',
  },
  requestsPerSecondMax: {
    default: 5,
    unit: 'transactions',
    max: 1_000_000,
    why: 'Transactions a second, and at once after a pause. Accesses that race at the same time share them.',
  },
  tipFloorLamports: {
    default: 1_000_000,
    unit: 'lamports',
    min: 0,
    why: 'Least sum of transfers to `tipAddresses`. It depends on the key: see the terms of the sender.',
  },
  transactionBytesMax: {
    default: 1_232,
    unit: 'bytes',
    max: 4_096,
    why: 'Longest transaction that the sender takes: 4096 for one that takes version 1.',
  },
  isProtected: {
    default: false,
    why: 'Whether it keeps transactions from those who would exploit them, so that it is used when `mev-protect=true` is asked for. A lane of quic-frame or json then asks for it, if its sender can be asked; on others, the URL or the key must say so.',
  },
} satisfies Declaration

export const defaults = {
  ...upstream,
  ...defaultsOf(options),
  /**
   * Transactions in flight on a connection, each on its stream: what Lunar Lander and Astralane
   * grant.
   */
  streamsMax: 64,
  /** Longest wait for a stream; then another lane has long been written to. */
  streamWaitMs: 100,
  /** For the name and the handshake of a QUIC connection. */
  quicConnectMs: 5_000,
  /**
   * Pauses between attempts to connect double between these. Lunar Lander and validators count the
   * attempts of a minute: 10, or 8.
   */
  pauseMinMs: 500,
  pauseMaxMs: 30_000,
}
