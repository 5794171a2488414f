/** Bounds of writes that wait for each other. */
export type GatherOptions = {
  /** How long the first one waits for others. */
  readonly gatherMs: number
  /** Writes that one turn of the event loop starts: about 10 µs each. */
  readonly gatherCountMax: number
}

/** Lets writes that nobody waits for start together, so that many of them are one commit. */
export class GatheredWrites {
  private readonly options: GatherOptions
  private readonly waiting: (() => void)[] = []
  private timer: NodeJS.Timeout | undefined

  constructor(options: GatherOptions) {
    this.options = options
  }

  /** Resolves when the write may start. */
  wait(): Promise<void> {
    return new Promise(resolve => {
      this.waiting.push(resolve)
      this.timer ??= setTimeout(() => this.startSome(), this.options.gatherMs)
    })
  }

  /** Lets every write start now. */
  startAll(): void {
    clearTimeout(this.timer)
    this.timer = undefined
    for (const start of this.waiting.splice(0)) start()
  }

  private startSome(): void {
    this.timer = undefined
    for (const start of this.waiting.splice(0, this.options.gatherCountMax)) start()
    if (this.waiting.length > 0) this.timer = setTimeout(() => this.startSome(), 0)
  }
}
