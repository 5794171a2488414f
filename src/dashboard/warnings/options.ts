import { type Declaration, defaultsOf } from '../../shared/options/declaration.js'

/** When people are warned of what happens to their accesses. */
export type Options = Readonly<typeof defaults>

export const options = {
  limitPercent: {
    default: 80,
    unit: 'percent',
    why: '`limit-near`: mean use of a limit over a minute, of what it allows.',
  },
  errorsPercent: {
    default: 10,
    unit: 'percent',
    why: '`errors-rising`: requests of a network at a location that failed, of those in five minutes.',
  },
  rentalEndingMs: {
    default: 3 * 86_400_000,
    unit: 'milliseconds',
    why: '`rental-ending`: from this time before the end of a rental on.',
  },
} satisfies Declaration

/** All bounds; those that are no option are settable in code only. */
export const defaults = {
  ...defaultsOf(options),
  /** Time over which the use of a limit is averaged: 16 bytes for each second and access. */
  limitSeconds: 60,
  /** Fewer failed requests than this in `errorsMs` are not reported. */
  errorsCount: 20,
  /** The latest time whose errors are compared with those of the hour before. */
  errorsMs: 300_000,
  /** How many times the share of the hour before it the share of errors is at least. */
  errorsFactor: 2,
}
