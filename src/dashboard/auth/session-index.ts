import type { ControlStore, SessionRecord } from '../../access/store/control-store.js'

/** A stored session with its key. */
export type StoredSession = readonly [key: Uint8Array, record: SessionRecord]

/**
 * Keys of sessions by the subject of their person, so that nobody's request reads the sessions of
 * all. In memory, about 150 bytes each, since no other process opens the store: read once at the
 * start, and changed after each commit.
 */
export class SessionIndex {
  private readonly sessions: ControlStore['sessions']
  private readonly keys = new Map<string, Set<string>>()

  constructor({ sessions }: Pick<ControlStore, 'sessions'>) {
    this.sessions = sessions
    for (const [key, { subject }] of sessions.from(new Uint8Array())) this.add(key, subject)
  }

  add(key: Uint8Array, subject: string): void {
    const own = this.keys.get(subject) ?? new Set()
    this.keys.set(subject, own.add(Buffer.from(key).toString('base64url')))
  }

  remove(key: Uint8Array, subject: string): void {
    const own = this.keys.get(subject)
    own?.delete(Buffer.from(key).toString('base64url'))
    if (own?.size === 0) this.keys.delete(subject)
  }

  /** The stored sessions of a person, in no order. */
  of(subject: string): readonly StoredSession[] {
    return [...(this.keys.get(subject) ?? [])].flatMap(text => {
      const key = Buffer.from(text, 'base64url')
      const record = this.sessions.get(key)
      return record === undefined ? [] : [[key, record] as const]
    })
  }
}
