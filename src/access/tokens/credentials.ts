import { RpcError } from '../../shared/errors.js'
import { Secret } from '../../shared/secret.js'
import { requireAccess, stateOf } from '../accesses/accesses.js'
import { parseRestriction } from './restriction.js'
import type { Sealing } from './sealing.js'
import type { AccessStore } from '../store/store.js'
import { placeKey, type Place, type TokenRecord } from '../store/tables.js'
import { createToken, digestToken, randomBase62, type RandomBytes } from './location-token.js'

/** What may be shown of a location token to anybody who may see its access. */
export type TokenInfo = Place & {
  readonly tokenId: string
  /** The token's last characters. */
  readonly tail: string
  readonly createdAtMs: number
  readonly address: string | undefined
}

/**
 * The state machine of a token (contract: token-lifecycle): a place has one active token or none. A change is on disk when
 * its promise resolves; the caller then raises `accessVersion`, and only after that does every edge
 * know.
 */
export type Credentials = {
  /** No token → Active. Refused where the place has one, or its access does not hold. */
  generate(place: Place): Promise<NewToken>
  /**
   * Active → Active with another secret; the restriction stays. Refused where there is none, or as
   * above.
   */
  regenerate(place: Place): Promise<NewToken>
  /** Active → no token. Its restriction goes with it. Works for an access that ended, too. */
  revoke(place: Place): Promise<void>
  /**
   * Limits the token to one public IPv4 address; blank lifts that. Throws RpcError for any other
   * text.
   */
  restrict(place: Place, address: string): Promise<TokenInfo>
  /** The token itself, to be shown again; undefined where the place has none. */
  reveal(place: Place): Promise<Secret | undefined>
  /** Active tokens of one access, by network and location. */
  list(accessId: string): readonly TokenInfo[]
}

/** A token that was just made: the one moment at which nobody has to ask for its text. */
export type NewToken = TokenInfo & { readonly token: Secret }

const TOKEN_ID_CHARS = 12
const TAIL_CHARS = 4

const toInfo = (place: Place, record: TokenRecord): TokenInfo => ({
  accessId: place.accessId,
  network: place.network,
  location: place.location,
  tokenId: record.tokenId,
  tail: record.tail,
  createdAtMs: record.createdAtMs,
  address: record.address ?? undefined,
})

// NUL cannot be part of an id, so two places never share a context.
const sealContext = (place: Place, tokenId: string): string =>
  [...placeKey(place), tokenId].join('\0')

export const createCredentials = (options: {
  readonly store: AccessStore
  readonly sealing: Sealing
  readonly randomBytes: RandomBytes
  readonly now: () => number
}): Credentials => {
  const { store, sealing, randomBytes, now } = options

  /** The token of a place that must have one. */
  const find = (place: Place): TokenRecord => {
    requireAccess(store, place)
    const record = store.tokens.get(placeKey(place))
    if (record === undefined) throw new RpcError('noToken')
    return record
  }

  const checkHolds = (place: Place): void => {
    const state = stateOf(requireAccess(store, place), now())
    if (state === 'ended') throw new RpcError('accessEnded')
    if (state === 'upcoming') throw new RpcError('accessUpcoming')
  }

  /** Both records of a token, which are never one without the other. */
  const write = (place: Place, record: TokenRecord): TokenInfo => {
    const { accessId, network, location } = place
    const { tokenId, address } = record
    store.tokens.put(placeKey(place), record)
    store.digests.put(record.digest, { tokenId, accessId, network, location, address })
    return toInfo(place, record)
  }

  const put = (place: Place, text: string, address: string | null): TokenInfo => {
    const tokenId = `tok_${randomBase62(TOKEN_ID_CHARS, randomBytes)}`
    return write(place, {
      tokenId,
      digest: digestToken(text),
      sealed: sealing.seal(text, sealContext(place, tokenId)),
      tail: text.slice(-TAIL_CHARS),
      createdAtMs: now(),
      address,
    })
  }

  const create = async (place: Place, change: (text: string) => TokenInfo): Promise<NewToken> => {
    await sealing.ready()
    const text = createToken(randomBytes)
    const info = await store.transaction(() => {
      checkHolds(place)
      return change(text)
    })
    return { ...info, token: new Secret(text) }
  }

  return {
    generate: place =>
      create(place, text => {
        if (store.tokens.get(placeKey(place)) !== undefined) throw new RpcError('tokenActive')
        return put(place, text, null)
      }),
    regenerate: place =>
      create(place, text => {
        const { digest, address } = find(place)
        store.digests.remove(digest)
        return put(place, text, address)
      }),
    revoke: place =>
      store.transaction(() => {
        store.digests.remove(find(place).digest)
        store.tokens.remove(placeKey(place))
      }),
    restrict: async (place, text) => {
      const address = parseRestriction(text) ?? null
      return store.transaction(() => write(place, { ...find(place), address }))
    },
    reveal: async place => {
      const record = store.tokens.get(placeKey(place))
      if (record === undefined) return undefined
      await sealing.ready()
      return new Secret(sealing.unseal(record.sealed, sealContext(place, record.tokenId)))
    },
    list: accessId => {
      const tokens: TokenInfo[] = []
      for (const [[owner, network, location], record] of store.tokens.from([accessId, '', ''])) {
        if (owner !== accessId) break
        tokens.push(toInfo({ accessId, network, location }, record))
      }
      return tokens
    },
  }
}
