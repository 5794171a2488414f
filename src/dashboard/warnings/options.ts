/** What all rules have in common. */
export type Options = Readonly<typeof defaults>

export const defaults = {
  /** Time over which the use of a limit is averaged: 16 bytes for each second and access. */
  limitSeconds: 60,
  /** How many times the share of the hour before it a share of errors is that rises. */
  errorsFactor: 2,
  /** An incident that has ended is found for so long, so that a round sees one of a second. */
  incidentEndedMs: 120_000,
  /** Warnings of one access: each webhook stores 90 bytes for each. */
  warningsMax: 64,
}
