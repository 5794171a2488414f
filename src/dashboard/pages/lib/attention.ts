/**
 * After this time without input the page stops loading data, so that the session of an abandoned
 * screen expires.
 */
const ATTENTION_MS = 10 * 60_000

let touchedMs = Date.now()
const touch = (): void => {
  touchedMs = Date.now()
}
for (const name of ['pointerdown', 'pointermove', 'keydown', 'scroll'])
  addEventListener(name, touch, { capture: true, passive: true })

/** Whether the page is visible and was used recently. */
export const hasAttention = (): boolean =>
  document.visibilityState === 'visible' && Date.now() - touchedMs < ATTENTION_MS
