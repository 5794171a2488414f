/** Why a sign-in failed. The page has a message for each. */
export type SignInFailure =
  'cancelled' | 'expired' | 'failed' | 'unreachable' | 'busy' | 'unconfigured'
