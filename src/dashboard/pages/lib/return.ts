/** Keys of what a sign-in returns to: ids and names only, no secrets. */
const ROUTE_KEY = 'slotline.return'
const ACTION_KEY = 'slotline.resume'

/** What a person wanted to do when they had to sign in again. */
export const RESUMED = ['reveal', 'regenerate'] as const
export type Resumed = (typeof RESUMED)[number]

/** Keeps where this tab is, and what is offered there, until it returns from a sign-in. */
export const saveReturn = (action?: string): void => {
  sessionStorage.setItem(ROUTE_KEY, location.hash)
  if (action === undefined) sessionStorage.removeItem(ACTION_KEY)
  else sessionStorage.setItem(ACTION_KEY, action)
}

export const restoreRoute = (): void => {
  const kept = sessionStorage.getItem(ROUTE_KEY)
  sessionStorage.removeItem(ROUTE_KEY)
  if (kept !== null && kept !== '' && location.hash === '') location.replace(kept)
}

/** What to offer after the sign-in; it is offered once. */
export const takeResumed = (): Resumed | undefined => {
  const kept = sessionStorage.getItem(ACTION_KEY)
  sessionStorage.removeItem(ACTION_KEY)
  return RESUMED.find(action => action === kept)
}
