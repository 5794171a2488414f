import type { SignInFailure } from '../../auth/sign-in-failure.js'

/** Messages for failed sign-ins. */
const FAILURES: Readonly<Record<SignInFailure, string>> = {
  cancelled: 'The sign-in was cancelled.',
  expired: 'The sign-in took too long, or was started in another browser. Please try again.',
  failed: 'The sign-in failed. Please try again.',
  stale:
    'The identity provider did not ask for the password again. Sign out there, and sign in again.',
  unreachable: 'The identity provider does not respond. Please try again in a moment.',
  busy: 'Too many sign-ins are in progress. Please try again in a moment.',
  unconfigured: 'Sign-in is not available: this service has no identity provider.',
}

const hasFailed = (name: string | null): name is SignInFailure =>
  name !== null && Object.hasOwn(FAILURES, name)

/** Reads the failure of the last sign-in from the URL, and removes it from there. */
export const takeFailure = (): string | undefined => {
  const name = new URLSearchParams(location.search).get('sign-in')
  if (location.search !== '') history.replaceState(null, '', `/${location.hash}`)
  return hasFailed(name) ? FAILURES[name] : undefined
}
