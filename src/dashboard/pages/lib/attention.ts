/**
 * Without a touch of the page for this long nobody is taken to look at it: it stops to ask for
 * news, so that a session ends in time on a screen that was left alone.
 */
const ATTENTION_MS = 10 * 60_000

let touchedMs = Date.now()
const touch = (): void => {
  touchedMs = Date.now()
}
for (const name of ['pointerdown', 'pointermove', 'keydown', 'scroll'])
  addEventListener(name, touch, { capture: true, passive: true })

/** True while the page is on a screen and was used a short time ago. */
export const hasAttention = (): boolean =>
  document.visibilityState === 'visible' && Date.now() - touchedMs < ATTENTION_MS
