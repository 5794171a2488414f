/** Method of what was refused before its method was read, and of what is no call. */
export const NO_METHOD = '(none)'
/** Method of calls whose own is not counted: too many, or no name that a table can have. */
export const OTHER_METHOD = '(other)'
/** Method of a WebSocket that is opened. */
export const OPEN_SOCKET = '(connect)'

/** Who refused a call. */
export type FailureOrigin = 'service' | 'upstream'

/** Why a call failed: the code of the JSON-RPC error, or the status of the answer. */
export type CallFailure = {
  readonly code: number
  readonly text?: string
  /** Who refused it; the service where it is absent. */
  readonly origin?: FailureOrigin
  readonly addressOf?: () => string
}

/**
 * Why an attempt was refused. `unknown`: no such token. `location`: a token of another location.
 * `address`: not the allowed address. `early`, `ended`: before or after the validity of the access.
 * `replaced`: a token that was regenerated or revoked.
 */
export type RefusalReason = 'unknown' | 'location' | 'address' | 'early' | 'ended' | 'replaced'
