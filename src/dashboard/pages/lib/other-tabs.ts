/** The channel between tabs of one browser. Messages have names and ids only, no secrets. */
const channel = new BroadcastChannel('slotline')

/** Notifies the other tabs of a change, a sign-in or a sign-out. */
export const notifyTabs = (what: string): void =>
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- it stays in its origin
  channel.postMessage(what)

/** Calls back when another tab sends this message. Returns a function that stops it. */
export const onTabMessage = (what: string, onHeard: () => void): (() => void) => {
  const listen = (event: MessageEvent<unknown>): void => {
    if (event.data === what) onHeard()
  }
  channel.addEventListener('message', listen)
  return () => channel.removeEventListener('message', listen)
}
