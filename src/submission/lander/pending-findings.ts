/** Said in place of findings that are not known when the answer is sent. */
export const UNCHECKED = 'unchecked'

/** The findings of a request whose checks run while it is in flight, as the header's value. */
export class PendingFindings {
  private value: string | undefined
  private readonly settled: Promise<void>

  constructor(findings: Promise<string>) {
    this.settled = findings.then(value => {
      this.value = value
    })
  }

  /** Waits for them at most this long. */
  async wait(waitMs: number): Promise<string> {
    if (this.value === undefined && waitMs > 0) {
      let timer: NodeJS.Timeout | undefined
      const timeout = new Promise<void>(resolve => (timer = setTimeout(resolve, waitMs)))
      await Promise.race([this.settled, timeout])
      clearTimeout(timer)
    }
    return this.value ?? UNCHECKED
  }
}
