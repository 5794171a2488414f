import { type Declaration, defaultsOf } from '../../shared/options/declaration.js'

/** Options of the lander routes of one network. */
export type Options = Readonly<typeof defaults>

export const options = {
  tipFloorLamports: {
    default: 1_000_000,
    unit: 'lamports',
    min: 0,
    why: 'Least tip of a transaction, or of one member of a bundle.',
  },
  enforce: {
    default: false,
    why: 'Findings are errors, and nothing is forwarded. Otherwise the lander decides, which may count tips that are not seen here.',
  },
  transactionPath: { default: '/send', why: 'Appended to each URL, for one transaction.' },
  bundlePath: { default: '/sendBundle', why: 'Appended to each URL, for a bundle.' },
  batchPath: { default: '/sendBatch', why: 'Appended to each URL, for a batch.' },
  binaryPath: {
    default: '',
    why: 'Appended to each URL, for the bytes of one transaction of `/send`. Empty: those are sent to `transactionPath`, as JSON.',
  },
  findingsWaitMs: {
    default: 0,
    unit: 'milliseconds',
    why: 'Longest wait of a response for its findings; 0 does not wait. Checks take 0.1 ms, a full batch 1 ms; distant landers take longer.',
  },
} satisfies Declaration

export const defaults = defaultsOf(options)
