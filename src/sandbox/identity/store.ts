import type { Adapter, AdapterPayload } from 'oidc-provider'

/** Greatest number of entries; the oldest is evicted. */
const ENTRIES_MAX = 2_000

type Entry = { readonly payload: AdapterPayload; readonly expiresAtMs: number }

/** In-memory store of the identity provider: codes, sessions and grants. */
export const createIdentityStore = (now: () => number): ((model: string) => Adapter) => {
  const entries = new Map<string, Entry>()
  const findBy = (model: string, matches: (payload: AdapterPayload) => boolean) => {
    for (const [key, { payload, expiresAtMs }] of entries)
      if (key.startsWith(`${model}:`) && now() < expiresAtMs && matches(payload)) return payload
    return undefined
  }
  return model => ({
    upsert: async (id, payload, expiresInSeconds) => {
      const key = `${model}:${id}`
      entries.delete(key)
      const [oldest] = entries.keys()
      if (entries.size >= ENTRIES_MAX && oldest !== undefined) entries.delete(oldest)
      const lifeMs = expiresInSeconds === undefined ? Infinity : expiresInSeconds * 1_000
      entries.set(key, { payload, expiresAtMs: now() + lifeMs })
    },
    find: async id => {
      const entry = entries.get(`${model}:${id}`)
      return entry !== undefined && now() < entry.expiresAtMs ? entry.payload : undefined
    },
    findByUid: async uid => findBy(model, payload => payload.uid === uid),
    findByUserCode: async code => findBy(model, payload => payload.userCode === code),
    consume: async id => {
      const entry = entries.get(`${model}:${id}`)
      if (entry !== undefined) entry.payload.consumed = Math.floor(now() / 1_000)
    },
    destroy: async id => void entries.delete(`${model}:${id}`),
    revokeByGrantId: async grantId => {
      for (const [key, { payload }] of entries) if (payload.grantId === grantId) entries.delete(key)
    },
  })
}
