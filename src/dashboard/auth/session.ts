import { createHash } from 'node:crypto'
import type { AccessStore } from '../../access/store/store.js'
import type { SessionRecord } from '../../access/store/tables.js'
import type { RandomBytes } from '../../access/tokens/location-token.js'

/** Who the identity provider says that somebody is. */
export type Person = {
  /** `sub`: accesses are granted to it. */
  readonly subject: string
  /** Empty where the provider tells none. */
  readonly email: string
  /** What to call them; never empty. */
  readonly name: string
}

/** Somebody who is signed in. */
export type Session = Person & { readonly expiresAtMs: number }

/**
 * Sessions in the access store, found by the SHA-256 of a random id that only the browser keeps.
 */
export type Sessions = {
  /** A new id, whatever was there before. On disk when it resolves. */
  open(person: Person): Promise<string>
  /**
   * The session as long as it holds. Being asked for is being used, which from time to time waits
   * for the disk.
   */
  find(id: string): Promise<Session | undefined>
  /** Ended on disk when it resolves; nothing where there is none. */
  end(id: string): Promise<void>
  /** Removes those that have ended by themselves; returns how many. */
  sweep(): Promise<number>
}

export type SessionOptions = {
  readonly sessionIdleMs: number
  readonly sessionMaxMs: number
  readonly sessionTouchMs: number
  readonly sessionsPerPersonMax: number
}

/** 256 bits: cannot be guessed, and a plain hash of it cannot be searched. */
const ID_BYTES = 32
const ID = /^[A-Za-z0-9_-]{43}$/

const digestOf = (id: string): Buffer => createHash('sha256').update(id).digest()

export const createSessions = (parts: {
  readonly store: AccessStore
  readonly options: SessionOptions
  readonly randomBytes: RandomBytes
  readonly now: () => number
  /** Hears of a use that could not be written down. */
  readonly onError: (error: unknown) => void
}): Sessions => {
  const { store, options, randomBytes, now, onError } = parts
  const { sessions } = store

  const expiryOf = (record: SessionRecord): number =>
    Math.min(record.seenAtMs + options.sessionIdleMs, record.createdAtMs + options.sessionMaxMs)
  const holds = (record: SessionRecord): boolean =>
    // A clock that was set back must not lengthen a session.
    now() < expiryOf(record) && now() >= record.createdAtMs - options.sessionTouchMs

  const touch = (key: Buffer, seenAtMs: number): Promise<void> =>
    store
      .transaction(() => {
        // Looked up again: it may have been ended meanwhile, and must stay so.
        const record = sessions.get(key)
        if (record !== undefined && record.seenAtMs < seenAtMs)
          sessions.put(key, { ...record, seenAtMs })
      })
      .catch(onError)

  /** Ends the oldest of one person, so that one more fits. */
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
      if (record === undefined || !holds(record)) return undefined
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
          ([, record]) => !holds(record),
        )
        for (const [key] of ended) sessions.remove(key)
        return ended.length
      }),
  }
}
