import { createHash } from 'node:crypto'
import { setImmediate as yieldTurn } from 'node:timers/promises'
import type { AccessPerson } from '../../access/members/members.js'
import type { ControlStore, SessionRecord } from '../../access/store/control-store.js'
import type { RandomBytes } from '../../access/tokens/location-token.js'
import { SessionIndex, type StoredSession } from './session-index.js'

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
  /** The address of a person, as the provider verified it at a sign-in that is still valid. */
  emailOf(subject: string): string | undefined
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

/** Sessions that are looked at in one turn of the event loop, to remove expired ones. */
const SWEEP_COUNT = 256

/** Up to so many stored sessions from a key on, in the order of their keys. */
const pageOf = ({ sessions }: ControlStore, start: Uint8Array): readonly StoredSession[] => {
  const page: StoredSession[] = []
  for (const one of sessions.from(start)) {
    page.push(one)
    if (page.length === SWEEP_COUNT) break
  }
  return page
}

/**
 * Removes the sessions that `find` returns in the transaction, where it sees each that was opened,
 * used or ended before; returns how many.
 */
const removeFound = async (
  store: ControlStore,
  index: SessionIndex,
  find: () => readonly StoredSession[],
): Promise<number> => {
  const removed = await store.transaction(() =>
    find().filter(([key]) => store.sessions.remove(key)),
  )
  for (const [key, { subject }] of removed) index.remove(key, subject)
  return removed.length
}

/** Removes expired sessions, some in each turn; returns how many. */
const removeExpired = async (
  store: ControlStore,
  index: SessionIndex,
  isValid: (record: SessionRecord) => boolean,
): Promise<number> => {
  let removed = 0
  let start: Uint8Array = new Uint8Array()
  for (;;) {
    const page = pageOf(store, start)
    const expiredOf = (all: readonly StoredSession[]): readonly StoredSession[] =>
      all.filter(([, record]) => !isValid(record))
    if (expiredOf(page).length > 0)
      removed += await removeFound(store, index, () => expiredOf(pageOf(store, start)))
    const last = page.at(-1)
    if (last === undefined || page.length < SWEEP_COUNT) return removed
    start = Buffer.concat([last[0], Buffer.alloc(1)])
    await yieldTurn()
  }
}

const digestOf = (id: string): Buffer => createHash('sha256').update(id).digest()

type SessionParts = {
  readonly store: ControlStore
  readonly options: SessionOptions
  readonly randomBytes: RandomBytes
  readonly now: () => number
  /** Called if the use of a session could not be stored. */
  readonly onError: (error: unknown) => void
}

/** Opens sessions; those of a person that are too many end, the oldest first. */
const createOpen =
  ({
    index,
    now,
    options,
    randomBytes,
    store,
  }: SessionParts & { readonly index: SessionIndex }): Sessions['open'] =>
  async ({ person, ...start }) => {
    const id = Buffer.from(randomBytes(ID_BYTES)).toString('base64url')
    const key = digestOf(id)
    const { subject, email, verifiedEmail, name } = person
    const times = { createdAtMs: now(), seenAtMs: now() }
    const write = (): readonly Uint8Array[] => {
      const own = index.of(subject).toSorted(([, a], [, b]) => b.createdAtMs - a.createdAtMs)
      const oldest = own.slice(options.sessionsPerPersonMax - 1).map(([one]) => one)
      for (const one of oldest) store.sessions.remove(one)
      store.sessions.put(key, { subject, email, verifiedEmail, name, ...start, ...times })
      // The transactions after this one count it. A key without a session is passed over.
      index.add(key, subject)
      return oldest
    }
    try {
      for (const one of await store.transaction(write)) index.remove(one, subject)
    } catch (error) {
      index.remove(key, subject)
      throw error
    }
    return id
  }

export const createSessions = (parts: SessionParts): Sessions => {
  const { store, options, now, onError } = parts
  const { sessions } = store
  const index = new SessionIndex(store)

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

  return {
    open: createOpen({ ...parts, index }),
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
      const key = digestOf(id)
      const find = (): readonly StoredSession[] => {
        const record = sessions.get(key)
        return record === undefined ? [] : [[key, record]]
      }
      if (ID.test(id)) await removeFound(store, index, find)
    },
    list: subject =>
      index
        .of(subject)
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
    emailOf: subject =>
      index.of(subject).find(([, record]) => record.verifiedEmail !== '' && isValid(record))?.[1]
        .verifiedEmail,
    endOf: (subject, matches) =>
      removeFound(store, index, () => index.of(subject).filter(([key]) => matches(nameOf(key)))),
    sweep: () => removeExpired(store, index, isValid),
  }
}
