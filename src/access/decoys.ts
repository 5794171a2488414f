import type { AccessStore } from './store/store.js'

/**
 * Tokens that stand in for unknown ones: as many as are in use at a time, so that caches know them
 * no better.
 */
const DECOYS_MAX = 256

/** Digests of tokens that exist, one after the other. */
export class Decoys {
  readonly #store: AccessStore
  #digests: readonly Uint8Array[] | undefined
  #next = 0

  constructor(store: AccessStore) {
    this.#store = store
  }

  /** The store has changed: some may be no more. */
  forget(): void {
    this.#digests = undefined
  }

  /** Undefined where the store has no token, and there is nothing that time could tell. */
  next(): Uint8Array | undefined {
    const digests = (this.#digests ??= this.#store.digests.keys(DECOYS_MAX))
    this.#next = (this.#next + 1) % Math.max(1, digests.length)
    return digests[this.#next]
  }
}
