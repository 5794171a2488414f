import { createHash } from 'node:crypto'
import type { ControlStore, SessionRecord } from '../../access/store/control-store.js'
import type { RandomBytes } from '../../access/tokens/location-token.js'

/** A person, as the identity provider describes them. */
export type Person = {
  /** The `sub` claim; accesses are granted to it. */
  readonly subject: string
  /** Empty if the provider has none. */
  readonly email: string
  /** Display name; never empty. */
  readonly name: string
}

/** A signed-in person. */
export type Session = Person & { readonly expiresAtMs: number }

/** Sessions in control's store, keyed by the SHA-256 of a random id that only the browser has. */
export type Sessions = {
  /** Opens a session and returns its id. On disk when it resolves. */
  open(person: Person): Promise<string>
  /** The session if it is valid. Counts as a use of the session, which is stored at intervals. */
  find(id: string): Promise<Session | undefined>
  /** Ends a session, if there is one. On disk when it resolves. */
  end(id: string): Promise<void>
  /** Removes expired sessions; returns how many. */
  sweep(): Promise<number>
}

export type SessionOptions = {
  readonly sessionIdleMs: number
  readonly sessionMaxMs: number
  readonly sessionTouchMs: number
  readonly sessionsPerPersonMax: number
}

/** 256 random bits, so a plain hash is safe against guessing. */
const ID_BYTES = 32
const ID = /^[A-Za-z0-9_-]{43}$/

const digestOf = (id: string): Buffer => createHash('sha256').update(id).digest()

export const createSessions = (parts: {
  readonly store: ControlStore
  readonly options: SessionOptions
  readonly randomBytes: RandomBytes
  readonly now: () => number
  /** Called if the use of a session could not be stored. */
  readonly onError: (error: unknown) => void
}): Sessions => {
  const { store, options, randomBytes, now, onError } = parts
  const { sessions } = store

  const expiryOf = (record: SessionRecord): number =>
    Math.min(record.seenAtMs + options.sessionIdleMs, record.createdAtMs + options.sessionMaxMs)
  const isValid = (record: SessionRecord): boolean =>
    // After the clock was set back, a session must not last longer.
    now() < expiryOf(record) && now() >= record.createdAtMs - options.sessionTouchMs

  const touch = (key: Buffer, seenAtMs: number): Promise<void> =>
    store
      .transaction(() => {
        // Read again: the session may have ended since.
        const record = sessions.get(key)
        if (record !== undefined && record.seenAtMs < seenAtMs)
          sessions.put(key, { ...record, seenAtMs })
      })
      .catch(onError)

  /** Ends the oldest sessions of a person, so that one more can start. */
  const makeRoom = (subject: string): void => {
    const own = Array.from(sessions.from(new Uint8Array()))
      .filter(([, record]) => record.subject === subject)
      .sort(([, a], [, b]) => b.createdAtMs - a.createdAtMs)
    for (const [key] of own.slice(options.sessionsPerPersonMax - 1)) sessions.remove(key)
  }

  return {
    open: async person => {
      const id = Buffer.from(randomBytes(ID_BYTES)).toString('base64url')
      await store.transaction(() => {
        makeRoom(person.subject)
        const { subject, email, name } = person
        sessions.put(digestOf(id), {
          subject,
          email,
          name,
          createdAtMs: now(),
          seenAtMs: now(),
        })
      })
      return id
    },
    find: async id => {
      if (!ID.test(id)) return undefined
      const key = digestOf(id)
      const record = sessions.get(key)
      if (record === undefined || !isValid(record)) return undefined
      const seenAtMs = now()
      if (seenAtMs - record.seenAtMs >= options.sessionTouchMs) await touch(key, seenAtMs)
      const { subject, email, name } = record
      return { subject, email, name, expiresAtMs: expiryOf({ ...record, seenAtMs }) }
    },
    end: async id => {
      if (ID.test(id)) await store.transaction(() => sessions.remove(digestOf(id)))
    },
    sweep: () =>
      store.transaction(() => {
        const ended = Array.from(sessions.from(new Uint8Array())).filter(
          ([, record]) => !isValid(record),
        )
        for (const [key] of ended) sessions.remove(key)
        return ended.length
      }),
  }
}
