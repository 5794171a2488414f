/** Milliseconds by which the service's clock is ahead of the browser's. */
let aheadMs = 0

/** Learns the service's clock from the `Date` of an answer, which has whole seconds. */
export const learnClock = (headers: Pick<Headers, 'get'>): void => {
  const atMs = Date.parse(headers.get('date') ?? '')
  if (Number.isNaN(atMs)) return
  const differenceMs = atMs + 500 - Date.now()
  // Within its precision they are the same.
  aheadMs = Math.abs(differenceMs) < 2_000 ? 0 : differenceMs
}

/** Unix milliseconds of the service's clock. */
export const serviceNow = (): number => Date.now() + aheadMs
