/** When people are warned of what happens to their accesses. */
export type Options = Readonly<typeof defaults>

export const defaults = {
  /** `limit-near`: mean use of a limit over `limitSeconds`, of what it allows. */
  limitPercent: 80,
  /** Time over which the use of a limit is averaged: 16 bytes for each second and access. */
  limitSeconds: 60,
  /** `errors-rising`: requests of a network at a location that failed, of those in `errorsMs`. */
  errorsPercent: 10,
  /** Fewer failed requests than this in `errorsMs` are not reported. */
  errorsCount: 20,
  /** The latest time whose errors are compared with those of the hour before. */
  errorsMs: 300_000,
  /** How many times the share of the hour before it the share of errors is at least. */
  errorsFactor: 2,
  /** `rental-ending`: from this time before the end of a rental on. */
  rentalEndingMs: 3 * 86_400_000,
}
