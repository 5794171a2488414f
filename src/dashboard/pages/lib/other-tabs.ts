/**
 * On which the tabs of one browser talk. Only names and ids are said there, never what they open.
 */
const CHANNEL = 'slotline'

/** Says something to the other tabs: a scope that was changed, or that the person signed out. */
export const tellTabs = (what: string): void => {
  const channel = new BroadcastChannel(CHANNEL)
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- it stays in its origin
  channel.postMessage(what)
  channel.close()
}

/** Calls back when another tab says this; the function that comes back ends it. */
export const listenFor = (what: string, onHeard: () => void): (() => void) => {
  const channel = new BroadcastChannel(CHANNEL)
  channel.addEventListener('message', event => {
    if (event.data === what) onHeard()
  })
  return () => channel.close()
}
