import type { Config } from '../config/config.js'
import type { IndexedScope } from '../pubsub/subscription.js'
import { RpcError } from '../shared/errors.js'
import { decodePubkey } from '../native/encoding.js'
import type { Filter, Reads } from '../native/reads.js'

type Listed = NonNullable<Config['networks'][number]['scope']>

/** What subscribers of a network can be told, by the store that is served. */
export type SubscriptionScope = IndexedScope & { use(reads: Pick<Reads, 'balance'>): void }

const TOKEN_PROGRAMS = [
  'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
  'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb',
]
const KEY_BYTES = 32

const textOf = (key: Uint8Array): string => Buffer.from(key).toString('hex')
const toTexts = (keys: readonly string[]): ReadonlySet<string> =>
  new Set(keys.map(key => textOf(decodePubkey(key))))

/** The rules by which the reads answer `outsideScope`, for what is only going to happen. */
export const createSubscriptionScope = (listed: Listed): SubscriptionScope => {
  const programs = toTexts(listed.programs)
  const mints = toTexts(listed.mints)
  const tokenPrograms = toTexts(TOKEN_PROGRAMS)
  let reads: Pick<Reads, 'balance'> | undefined

  const holdsMint = (filter: Filter): boolean =>
    'bytes' in filter &&
    filter.offset === 0 &&
    filter.bytes.length >= KEY_BYTES &&
    mints.has(textOf(filter.bytes.subarray(0, KEY_BYTES)))

  return {
    use: next => {
      reads = next
    },
    holdsAccount: pubkey => {
      if (reads === undefined) throw new RpcError('noIndex')
      try {
        // The one read that is small whatever the account holds.
        reads.balance(pubkey)
        return true
      } catch (error) {
        if (error instanceof RpcError && error.name === 'outsideScope') return false
        throw error
      }
    },
    holdsProgram: (program, filters) => {
      const text = textOf(program)
      return programs.has(text) || (tokenPrograms.has(text) && filters.some(holdsMint))
    },
  }
}
