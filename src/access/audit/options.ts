import { type Declaration, defaultsOf } from '../../shared/options/declaration.js'

/** Bounds of the audit log. */
export type Options = Readonly<typeof defaults>

export const options = {
  keptDaysMax: {
    default: 400,
    unit: 'days',
    max: 36_500,
    why: 'Entries are kept for this many days: a year, and what a yearly review of it takes.',
  },
} satisfies Declaration

/** All bounds; those that are no option are settable in code only. */
export const defaults = {
  ...defaultsOf(options),
  /** Bytes of one file, about 16,000 entries. A further entry begins the next file. */
  fileBytesMax: 4 * 1024 ** 2,
  /** Files that are kept, whatever their age; the oldest is removed for a further one. */
  filesMax: 16,
}
