/** Writes whole numbers of up to 53 bits, seven bits in a byte, the lowest first. */
export class NumberWriter {
  readonly #bytes: number[] = []

  add(value: number): void {
    let left = value
    while (left >= 128) {
      this.#bytes.push((left % 128) + 128)
      left = Math.floor(left / 128)
    }
    this.#bytes.push(left)
  }

  addText(text: string): void {
    const bytes = Buffer.from(text, 'latin1')
    this.add(bytes.length)
    this.#bytes.push(...bytes)
  }

  /** Adds counts, of which zeros in a row take two bytes. */
  addCounts(counts: readonly number[]): void {
    for (let index = 0; index < counts.length;) {
      const count = counts[index] ?? 0
      this.add(count)
      index++
      if (count > 0) continue
      const first = index
      while (index < counts.length && counts[index] === 0) index++
      this.add(index - first)
    }
  }

  toBuffer(): Buffer {
    return Buffer.from(this.#bytes)
  }
}

/** Reads what `NumberWriter` wrote. Past the end every number is 0. */
export class NumberReader {
  readonly #bytes: Uint8Array
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length
  }

  next(): number {
    let value = 0
    for (let scale = 1; !this.isAtEnd; scale *= 128) {
      const byte = this.#bytes[this.#at++] ?? 0
      value += (byte % 128) * scale
      if (byte < 128) break
    }
    return value
  }

  nextText(): string {
    const end = this.next() + this.#at
    const text = Buffer.from(this.#bytes.subarray(this.#at, end)).toString('latin1')
    this.#at = end
    return text
  }

  nextCounts(length: number): number[] {
    const counts = Array<number>(length).fill(0)
    for (let index = 0; index < length && !this.isAtEnd; index++) {
      const count = this.next()
      counts[index] = count
      if (count === 0) index += this.next()
    }
    return counts
  }
}
