/** Tells other tabs of this browser that a place changed. Only its ids are said, never what changed. */
const CHANNEL = 'slotline.places'

export const tellChange = (key: string): void => {
  const channel = new BroadcastChannel(CHANNEL)
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a BroadcastChannel reaches its own origin only
  channel.postMessage(key)
  channel.close()
}

/** Calls back when another tab changed this place; the function that comes back ends it. */
export const listenForChanges = (key: string, onChange: () => void): (() => void) => {
  const channel = new BroadcastChannel(CHANNEL)
  channel.addEventListener('message', event => {
    if (event.data === key) onChange()
  })
  return () => channel.close()
}
