import { createHash } from 'node:crypto'
import type { AccessPerson } from '../../access/members/members.js'
import type { ControlStore, SessionRecord } from '../../access/store/control-store.js'
import type { RandomBytes } from '../../access/tokens/location-token.js'

/** A person, as the identity provider describes them. */
export type Person = AccessPerson & {
  /** Empty if the provider has none. */
  readonly email: string
  /** Display name; never empty. */
  readonly name: string
}

/** A signed-in person. */
export type Session = Person & {
  /** Names the session in lists; not a secret. */
  readonly sessionId: string
  /** When the person last entered a password, as far as the provider says. */
  readonly authenticatedAtMs: number
  readonly expiresAtMs: number
}

/** A session as its person sees it in a list. */
export type ListedSession = Pick<Session, 'sessionId' | 'expiresAtMs'> &
  Pick<SessionRecord, 'createdAtMs' | 'seenAtMs' | 'address' | 'browser'>

/** A sign-in, and the browser that it came from. */
export type SessionStart = {
  readonly person: Person
  readonly authenticatedAtMs: number
  readonly address: string
  readonly browser: string
}

/** Sessions in control's store, keyed by the SHA-256 of a random id that only the browser has. */
export type Sessions = {
  /** Opens a session and returns its id. On disk when it resolves. */
  open(start: SessionStart): Promise<string>
  /**
   * The session if it is valid. Counts as a use of the session from this address, which is stored
   * at intervals.
   */
  find(id: string, address: string): Promise<Session | undefined>
  /** Whether a session is valid. Does not count as a use of it. */
  isValid(id: string): boolean
  /** Ends a session, if there is one. On disk when it resolves. */
  end(id: string): Promise<void>
  /** The valid sessions of a person, the one that was used last first. */
  list(subject: string): readonly ListedSession[]
  /** Addresses by subject, as the provider verified them at sign-ins that are still valid. */
  emails(): ReadonlyMap<string, string>
  /** Ends those sessions of a person that match; returns how many. On disk when it resolves. */
  endOf(subject: string, matches: (sessionId: string) => boolean): Promise<number>
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

/** How much of the stored key names a session: 72 bits of a hash of 256 random ones. */
const NAME_BYTES = 9

const nameOf = (key: Uint8Array): string =>
  Buffer.from(key.subarray(0, NAME_BYTES)).toString('base64url')

const ownOf = ({ sessions }: ControlStore, subject: string) =>
  Array.from(sessions.from(new Uint8Array())).filter(([, record]) => record.subject === subject)

const emailsOf = (
  { sessions }: ControlStore,
  isValid: (record: SessionRecord) => boolean,
): ReadonlyMap<string, string> =>
  new Map(
    Array.from(sessions.from(new Uint8Array()), ([, record]) => record)
      .filter(record => record.verifiedEmail !== '' && isValid(record))
      .map(({ subject, verifiedEmail }) => [subject, verifiedEmail]),
  )

/** Removes sessions; returns how many. */
const removeWhere = (
  store: ControlStore,
  matches: (key: Uint8Array, record: SessionRecord) => boolean,
): Promise<number> =>
  store.transaction(() => {
    const found = Array.from(store.sessions.from(new Uint8Array())).filter(([key, record]) =>
      matches(key, record),
    )
    for (const [key] of found) store.sessions.remove(key)
    return found.length
  })

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

  const touch = (key: Buffer, seenAtMs: number, address: string): Promise<void> =>
    store
      .transaction(() => {
        // Read again: the session may have ended since.
        const record = sessions.get(key)
        if (record !== undefined && record.seenAtMs < seenAtMs)
          sessions.put(key, { ...record, seenAtMs, address })
      })
      .catch(onError)

  /** Ends the oldest sessions of a person, so that one more can start. */
  const makeRoom = (subject: string): void => {
    const own = ownOf(store, subject).sort(([, a], [, b]) => b.createdAtMs - a.createdAtMs)
    for (const [key] of own.slice(options.sessionsPerPersonMax - 1)) sessions.remove(key)
  }

  return {
    open: async ({ person, ...start }) => {
      const id = Buffer.from(randomBytes(ID_BYTES)).toString('base64url')
      await store.transaction(() => {
        makeRoom(person.subject)
        const { subject, email, verifiedEmail, name } = person
        sessions.put(digestOf(id), {
          subject,
          email,
          verifiedEmail,
          name,
          ...start,
          createdAtMs: now(),
          seenAtMs: now(),
        })
      })
      return id
    },
    find: async (id, address) => {
      if (!ID.test(id)) return undefined
      const key = digestOf(id)
      const record = sessions.get(key)
      if (record === undefined || !isValid(record)) return undefined
      const seenAtMs = now()
      if (seenAtMs - record.seenAtMs >= options.sessionTouchMs) await touch(key, seenAtMs, address)
      const { subject, email, verifiedEmail, name, authenticatedAtMs } = record
      const person = { subject, email, verifiedEmail, name }
      const expiresAtMs = expiryOf({ ...record, seenAtMs })
      return { ...person, sessionId: nameOf(key), authenticatedAtMs, expiresAtMs }
    },
    isValid: id => {
      const record = ID.test(id) ? sessions.get(digestOf(id)) : undefined
      return record !== undefined && isValid(record)
    },
    end: async id => {
      if (ID.test(id)) await store.transaction(() => sessions.remove(digestOf(id)))
    },
    list: subject =>
      ownOf(store, subject)
        .filter(([, record]) => isValid(record))
        .toSorted(
          ([, one], [, other]) =>
            other.seenAtMs - one.seenAtMs || other.createdAtMs - one.createdAtMs,
        )
        .map(([key, record]) => {
          const { createdAtMs, seenAtMs, address, browser } = record
          const expiresAtMs = expiryOf(record)
          return { sessionId: nameOf(key), createdAtMs, seenAtMs, expiresAtMs, address, browser }
        }),
    emails: () => emailsOf(store, isValid),
    endOf: (subject, matches) =>
      removeWhere(store, (key, record) => record.subject === subject && matches(nameOf(key))),
    sweep: () => removeWhere(store, (_key, record) => !isValid(record)),
  }
}
