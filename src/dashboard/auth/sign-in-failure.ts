/** Why somebody is not signed in; the page has a sentence for each. */
export type SignInFailure =
  'cancelled' | 'expired' | 'failed' | 'unreachable' | 'busy' | 'unconfigured'
