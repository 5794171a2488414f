/** The channel between tabs of one browser. Messages have names and ids only, no secrets. */
const CHANNEL = 'slotline'

/** Notifies the other tabs of a change or a sign-out. */
export const notifyTabs = (what: string): void => {
  const channel = new BroadcastChannel(CHANNEL)
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- it stays in its origin
  channel.postMessage(what)
  channel.close()
}

/** Calls back when another tab sends this message. Returns a function that stops it. */
export const onTabMessage = (what: string, onHeard: () => void): (() => void) => {
  const channel = new BroadcastChannel(CHANNEL)
  channel.addEventListener('message', event => {
    if (event.data === what) onHeard()
  })
  return () => channel.close()
}
