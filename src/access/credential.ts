import { RpcError } from '../shared/errors.js'
import { Secret } from '../shared/secret.js'
import { endOf, requireAccess } from './entitlement.js'
import type { Sealing } from './sealing.js'
import type { AccessStore } from './store.js'
import { placeKey, type Place, type TokenRecord } from './tables.js'
import { createToken, digestToken, randomBase62, type RandomBytes } from './token.js'

/** What may be shown of a location token to anybody who may see its access. */
export type TokenInfo = Place & {
  readonly tokenId: string
  /** The token's last characters. */
  readonly tail: string
  readonly createdAtMs: number
  readonly address: string | undefined
}

/**
 * The state machine of spec §3.1: a place has one active token or none. A change is on disk when its promise
 * resolves; the caller then raises `accessVersion`, and only after that does every edge know.
 */
export type Credentials = {
  /** No token → Active. Refused where the place has one, or its access does not hold. */
  generate(place: Place): Promise<TokenInfo & { readonly token: Secret }>
  /** The token itself, to be shown again; undefined where the place has none. */
  reveal(place: Place): Promise<Secret | undefined>
  /** Active tokens of one access, by network and location. */
  list(accessId: string): readonly TokenInfo[]
}

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

  const put = (place: Place, text: string): TokenInfo => {
    const nowMs = now()
    const access = requireAccess(store, place)
    if (nowMs >= endOf(access)) throw new RpcError('accessEnded')
    if (store.tokens.get(placeKey(place)) !== undefined) throw new RpcError('tokenActive')

    const tokenId = `tok_${randomBase62(TOKEN_ID_CHARS, randomBytes)}`
    const digest = digestToken(text)
    const record: TokenRecord = {
      tokenId,
      digest,
      sealed: sealing.seal(text, sealContext(place, tokenId)),
      tail: text.slice(-TAIL_CHARS),
      createdAtMs: nowMs,
      address: null,
    }
    store.tokens.put(placeKey(place), record)
    const { accessId, network, location } = place
    store.digests.put(digest, { tokenId, accessId, network, location, address: null })
    return toInfo(place, record)
  }

  return {
    generate: async place => {
      await sealing.ready()
      const text = createToken(randomBytes)
      const info = await store.transaction(() => put(place, text))
      return { ...info, token: new Secret(text) }
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
