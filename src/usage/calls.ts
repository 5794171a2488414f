/** Method of what was refused before its method was read, and of what is no call. */
export const NO_METHOD = '(none)'
/** Method of calls whose own is not counted: too many, or no name that a table can have. */
export const OTHER_METHOD = '(other)'
/** Method of a WebSocket that is opened. */
export const OPEN_SOCKET = '(connect)'

/** Who refused a call; `limit`: it was over a limit of its access. */
export const FAILURE_ORIGINS = ['service', 'upstream', 'limit'] as const
export type FailureOrigin = (typeof FAILURE_ORIGINS)[number]

/** The request or message of a call. Fields may be getters: they are read only if it is listed. */
export type CallSource = {
  /** Of the request in log lines; of a WebSocket or a QUIC connection, the id of the connection. */
  readonly id: string
  readonly address: string
  /** Length of the whole request or message; absent if its body was not read. */
  readonly bytes?: number | undefined
  /** The newest slot that was served then. */
  readonly slot?: number | undefined
}

/** Why a call failed: the code of the JSON-RPC error, or the status of the answer. */
export type CallFailure = {
  readonly code: number
  readonly text?: string
  /** Who refused it; the service where it is absent. */
  readonly origin?: FailureOrigin
  readonly source?: CallSource
  /** Of a call that ran, before they are cut. */
  readonly params?: unknown
}

/**
 * Why an attempt was refused. `unknown`: no such token. `location`: a token of another location.
 * `address`: not the allowed address. `early`, `ended`: before or after the validity of the access.
 * `replaced`: a token that was regenerated or revoked.
 */
export type RefusalReason = 'unknown' | 'location' | 'address' | 'early' | 'ended' | 'replaced'
