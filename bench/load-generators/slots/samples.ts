import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { setRealtime, setSlice } from '../../../src/native/os.js'

/** Microseconds. */
const OWN_TURN = 100
/** Room for a long run: growing it would be a long turn. */
const FIRST_NUMBERS = 2 ** 24

/** Sent to a client: it writes what it has received, and sends no answer. */
export type Finish = { readonly finish: true }

/** What arrived at a client: kinds by their place in a list, slots, and times of `machineMs`. */
export class Samples {
  private all = new Float64Array(FIRST_NUMBERS)
  private length = 0
  private readonly file: string

  constructor(file: string) {
    this.file = file
    // The client represents another machine: it must not wait for this one's processor.
    if (!setRealtime()) setSlice(OWN_TURN)
    process.on('message', message => {
      if ('finish' in Object(message)) this.write()
    })
  }

  add(kind: number, slot: number, ms: number): void {
    if (this.length + 3 > this.all.length) {
      const before = this.all
      this.all = new Float64Array(2 * before.length)
      this.all.set(before)
    }
    this.all[this.length] = kind
    this.all[this.length + 1] = slot
    this.all[this.length + 2] = ms
    this.length += 3
  }

  private write(): void {
    writeFileSync(`${this.file}.part`, this.all.subarray(0, this.length))
    renameSync(`${this.file}.part`, this.file)
  }
}

/** Numbers that a child has written. */
export const readNumbers = (file: string): Float64Array => {
  const { buffer, byteOffset, byteLength } = readFileSync(file)
  return new Float64Array(buffer.slice(byteOffset, byteOffset + byteLength))
}
