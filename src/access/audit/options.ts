/** Bounds of the audit log. */
export type Options = Readonly<typeof defaults>

export const defaults = {
  /** Entries are kept for this many days: a year, and what a yearly review of it takes. */
  keptDaysMax: 400,
  /** Bytes of one file, about 16,000 entries. A further entry begins the next file. */
  fileBytesMax: 4 * 1024 ** 2,
  /** Files that are kept, whatever their age; the oldest is removed for a further one. */
  filesMax: 16,
}
