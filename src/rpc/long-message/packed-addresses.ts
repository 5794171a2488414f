import type { AddressList } from '../../native/reads.js'

/** A list of addresses that was decoded before its message was parsed. */
export class PackedAddresses {
  readonly #list: AddressList

  constructor(list: AddressList) {
    this.#list = list
  }

  /** 32 bytes for each address. Throws the error of the first invalid one. */
  keys(): Uint8Array {
    if (this.#list instanceof Error) throw this.#list
    return this.#list
  }
}
