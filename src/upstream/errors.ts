/**
 * Why an upstream gave no answer. `unreachable` and `full`: not a byte was written, so it may be
 * asked again. `silent`: bytes were written, and nobody knows what became of them.
 */
export class UpstreamFailure extends Error {
  readonly kind: 'unreachable' | 'silent' | 'full'

  /** `reason` goes into logs: codes and bounds, never a URL. */
  constructor(kind: UpstreamFailure['kind'], reason: string) {
    super(reason)
    this.kind = kind
  }
}

/** What may be said of an error of a socket or of a parser: texts of theirs may hold anything. */
export const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return 'unknown'
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}
