import { type Declaration, defaultsOf } from '../shared/options/declaration.js'

/** Bounds of the calls that an upstream RPC answers for one network. */
export type Options = Readonly<typeof defaults>

export const options = {
  outsideScope: {
    default: 'error',
    words: ['error', 'forward'],
    why: "Point reads outside the indexed scope: `error` refuses them, `forward` answers them at the upstream's slot.",
  },
} satisfies Declaration

export const defaults = {
  ...defaultsOf(options),
  /** Bytes of one call. A validator takes as many, and answers a longer one with plain HTTP 413. */
  callBytesMax: 50 * 1024,
}

/** Defaults of an RPC upstream that differ from those of a lander. */
export const upstreamDefaults = {
  /** A validator does not count it as a call. */
  pingPath: '/health',
  /** As long as a read may take; the slowest usual call, a block, takes 5 s. */
  answerMs: 30_000,
  /**
   * The longest usual reply is a block of some MiB; with `inFlightMax` it bounds memory to 1 GiB.
   */
  replyBytesMax: 16 * 1024 ** 2,
  inFlightMax: 64,
}
