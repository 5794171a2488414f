/**
 * Why an upstream gave no answer. `unreachable` and `full`: no byte was written, or the peer says
 * that it has not processed the request, so it may be asked again. `no-response`: bytes were
 * written, and the outcome is unknown.
 */
export class UpstreamFailure extends Error {
  readonly kind: 'unreachable' | 'no-response' | 'full'

  /** `reason` is logged: codes and bounds, never a URL. */
  constructor(kind: UpstreamFailure['kind'], reason: string) {
    super(reason)
    this.kind = kind
  }
}

/** The code or name of an error of a socket or parser; its text may contain anything. */
export const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return 'unknown'
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}
