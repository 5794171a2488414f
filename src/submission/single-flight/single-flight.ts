import { setTimeout as sleep } from 'node:timers/promises'
import type { Claim, Claims, Holder } from './lock-table.js'
import { formatId } from '../store/submission-id.js'
import type { Ending, Submission } from '../store/submission.js'

/** A flight that was begun: its end, and when others can read of it. */
export type Begun = {
  readonly ended: Promise<Ending>
  /** Resolves when other edges can read how it ended; false where it could not be stored. */
  readonly stored: Promise<boolean>
}

/** Bounds of waiting for a flight of another edge. */
export type FlightOptions = {
  /** Pause between two looks at what the other edge has stored. */
  readonly followPollMs: number
  /** Longest wait: every time-out of a flight, and what storing its end takes. */
  readonly followMs: number
}

/** What flights are made of. */
export type FlightModules = {
  readonly claims: Claims
  /** A submission of an edge of this machine, as far as it is stored. */
  readonly read: (edge: number, id: Uint8Array) => Submission | undefined
  /** Monotonic milliseconds. */
  readonly now: () => number
}

/**
 * How a bundle went: of this submission itself, of another one that it joined, or `full`, or
 * `unknown`.
 */
export type Flown = { readonly ending: Ending; readonly joined: string | null } | 'full' | 'unknown'

/**
 * The same bundle in flight at any edge of the machine is sent once, and all who come meanwhile
 * share its end.
 */
export type Flights = {
  /**
   * Joins the flight of this bundle, or makes one of its own. `isSame` tells the bundle's
   * submissions from those of another one with the same claim.
   */
  fly(bundle: Bundle & { readonly isSame: (submission: Submission) => boolean }): Promise<Flown>
}

/**
 * What may fly. `prepare` keeps what is to be sent, or finds that it cannot be; what it answers
 * then sends.
 */
export type Bundle = {
  /** Digest of the bundle, its route and its network. */
  readonly key: Buffer
  readonly id: Uint8Array
  readonly prepare: () => (() => Begun) | 'full'
}

/**
 * At first the other edge is looked at in each turn of the loop: it may have begun in this very
 * instant.
 */
const EAGER_LOOKS = 3

/** A flight of this edge. */
type Own = {
  readonly id: Uint8Array
  readonly claim: Claim
  readonly ended: Promise<Ending>
  /** It is not stored yet: who comes now begins a flight of its own, under a new claim. */
  isEnding: boolean
}

export const createFlights = (
  { followPollMs, followMs }: FlightOptions,
  { claims, read, now }: FlightModules,
): Flights => {
  /** Flights of this edge, up to their storing. */
  const here = new Map<string, Own>()
  /** In flight at other edges, and waited for here. */
  const followed = new Map<string, Promise<Flown | 'gone'>>()

  const prepareOrRelease = (claim: Claim, prepare: () => (() => Begun) | 'full') => {
    try {
      const send = prepare()
      if (send === 'full') claims.release(claim)
      return send
    } catch (error) {
      claims.release(claim)
      throw error
    }
  }

  const keep = (name: string, claim: Claim, id: Uint8Array, started: Begun): void => {
    const own: Own = { id, claim, ended: started.ended, isEnding: false }
    here.set(name, own)
    const land = (): void => {
      own.isEnding = true
      claims.end(claim)
    }
    started.ended.then(land, land)
    const release = (): void => {
      if (here.get(name) !== own) return
      here.delete(name)
      claims.release(claim)
    }
    started.stored.then(release, release)
  }

  /** Waits for the end of another edge's flight; `gone` where it was over, or never began. */
  const follow = async (
    key: Uint8Array,
    isSame: (submission: Submission) => boolean,
  ): Promise<Flown | 'gone'> => {
    const endMs = now() + followMs
    let leader: Required<Holder> | undefined
    for (let looks = 0; ; looks++) {
      // Before the record: a claim is let go after it can be read.
      const holder = claims.holder(key)
      if (holder?.id !== undefined) leader = { edge: holder.edge, id: holder.id }
      const found = leader?.id && read(leader.edge, leader.id)
      if (leader?.id !== undefined && found !== undefined) {
        if (!isSame(found)) leader = undefined
        else if (found.outcome !== 'pending') return { ending: found, joined: formatId(leader.id) }
      }
      // It was begun, and its edge could not store how it ended: it must not be sent again.
      if (holder === undefined) return leader === undefined ? 'gone' : 'unknown'
      if (now() > endMs) return 'unknown'
      await sleep(looks < EAGER_LOOKS ? 0 : followPollMs)
    }
  }

  /** The same for all who come here while it lasts: one looks, the others wait with it. */
  const followTogether = (
    name: string,
    key: Uint8Array,
    isSame: (submission: Submission) => boolean,
  ): Promise<Flown | 'gone'> => {
    const known = followed.get(name)
    // Over already, and only not seen yet: who comes now is too late to join.
    if (known !== undefined && claims.holder(key)?.id !== undefined) return known
    const own = follow(key, isSame)
    followed.set(name, own)
    const forget = (): void => {
      if (followed.get(name) === own) followed.delete(name)
    }
    own.then(forget, forget)
    return own
  }

  const nameOf = (key: Buffer): string => key.toString('latin1')

  const begin = (
    { key, id, prepare }: Bundle,
    name: string,
  ): Promise<Flown> | 'full' | 'flying' => {
    const old = here.get(name)
    if (old?.isEnding === false) return 'flying'
    if (old !== undefined) {
      here.delete(name)
      claims.release(old.claim)
    }
    const claim = claims.take(key)
    if (claim === 'full') return 'full'
    if (claim === 'held') return 'flying'
    const send = prepareOrRelease(claim, prepare)
    if (send === 'full') return 'full'
    // Before a byte is sent: whoever waits for this flight must know of it when this process dies
    // amid it.
    claims.begin(claim, id)
    const started = send()
    keep(name, claim, id, started)
    return started.ended.then(ending => ({ ending, joined: null }))
  }

  return {
    async fly(bundle) {
      const { key, isSame } = bundle
      const name = nameOf(key)
      for (;;) {
        const known = here.get(name)
        if (known?.isEnding === false)
          return { ending: await known.ended, joined: formatId(known.id) }
        const begun = begin(bundle, name)
        if (begun !== 'flying') return begun
        const end = await followTogether(name, key, isSame)
        if (end !== 'gone') return end
      }
    },
  }
}
