/** Why a sign-in failed. The page has a message for each. */
export type SignInFailure =
  'cancelled' | 'expired' | 'failed' | 'stale' | 'unreachable' | 'busy' | 'unconfigured'
