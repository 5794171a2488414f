import type { EdgeConfig } from '../../config/child-config.js'
import { decodePubkey } from '../../native/encoding.js'
import type { Filter, Reads } from '../../native/reads.js'
import type { IndexedScope } from '../../pubsub/subscription.js'
import { RpcError } from '../../shared/errors.js'
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../shared/token-programs.js'

type ScopeOptions = NonNullable<EdgeConfig['networks'][number]['scope']>

/** The indexed scope of a network, as its live store has it. */
export type SubscriptionScope = IndexedScope & { setReads(reads: Pick<Reads, 'balance'>): void }

const KEY_BYTES = 32

const toHex = (key: Uint8Array): string => Buffer.from(key).toString('hex')
const toHexSet = (keys: readonly string[]): ReadonlySet<string> =>
  new Set(keys.map(key => toHex(decodePubkey(key))))

/** Applies the rules by which reads answer `outsideScope` to accounts that may not exist yet. */
export const createSubscriptionScope = (options: ScopeOptions): SubscriptionScope => {
  const programs = toHexSet(options.programs)
  const mints = toHexSet(options.mints)
  const tokenPrograms = toHexSet([TOKEN_PROGRAM, TOKEN_2022_PROGRAM])
  let reads: Pick<Reads, 'balance'> | undefined

  const filtersMint = (filter: Filter): boolean =>
    'bytes' in filter &&
    filter.offset === 0 &&
    filter.bytes.length >= KEY_BYTES &&
    mints.has(toHex(filter.bytes.subarray(0, KEY_BYTES)))

  return {
    setReads: next => {
      reads = next
    },
    coversAccount: pubkey => {
      if (reads === undefined) throw new RpcError('noIndex')
      try {
        // The read whose result is small for every account.
        reads.balance(pubkey, 'confirmed')
        return true
      } catch (error) {
        if (error instanceof RpcError && error.name === 'outsideScope') return false
        // Within the scope, and its next change is reported wherever it is now.
        if (error instanceof RpcError && error.name === 'indexIncomplete') return true
        throw error
      }
    },
    coversProgram: (program, filters) => {
      const key = toHex(program)
      return programs.has(key) || (tokenPrograms.has(key) && filters.some(filtersMint))
    },
  }
}
