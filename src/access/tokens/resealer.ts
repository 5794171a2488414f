import { setImmediate as nextTurn } from 'node:timers/promises'
import { RpcError } from '../../shared/errors.js'
import type { AccessJournal } from '../journal/access-journal.js'
import type { AccessStore } from '../store/access-store.js'
import type { AccessDocument } from '../store/tables.js'
import { mapSealed } from './sealed-parts.js'
import type { Sealing } from './sealing.js'

/** How far everything is sealed with the first key. */
export type ResealState = {
  readonly keyId: string | null
  readonly formerKeyIds: readonly string[]
  readonly state: 'idle' | 'running' | 'done' | 'failed'
  readonly accesses: number
  readonly resealed: number
  readonly unreadable: number
  readonly reason?: string
}

/** Replaces the sealing key while tokens are made, shown and revoked. */
export type Resealer = {
  /**
   * Makes a new key, unless the file has several: then it continues with the first one. Resolves
   * when it runs. A second call changes nothing while it does.
   */
  start(): Promise<void>
  state(): ResealState
  /** Ends it after the changes in progress; what is left can be continued. */
  stop(): Promise<void>
}

/** Accesses that are read in one turn of the event loop. */
const PAGE = 64
/** Changes in progress: enough for one commit to have several of them. */
const CHANGES_MAX = 16
/**
 * How often all accesses are read. The second time finds what was sealed with a former key while
 * the first one ran, which only another machine of a cluster does.
 */
const PASSES_MAX = 8

/** Ends a change that has nothing to write. */
class Unchanged extends Error {}

const isLost = (error: unknown): boolean => error instanceof RpcError && error.name === 'accessBusy'

type Resealed = {
  readonly access: AccessDocument
  readonly resealed: number
  readonly unreadable: number
}

type Counts = { accesses: number; resealed: number; unreadable: number }

export type ResealerParts = {
  /** Where accesses are read. */
  readonly store: AccessStore
  /** Where they are changed. */
  readonly journal: AccessJournal
  readonly sealing: Sealing
  /** The key is that of all machines: it is replaced in their files by the operator. */
  readonly isShared: boolean
  /** Waits for the changes of this process that were begun with the former key. */
  readonly settle: () => Promise<void>
  readonly onEnd: (state: ResealState) => void
}

class AccessResealer implements Resealer {
  private readonly parts: ResealerParts
  private counts: Counts = { accesses: 0, resealed: 0, unreadable: 0 }
  private phase: ResealState['state'] = 'idle'
  private reason: string | undefined
  private running: Promise<void> = Promise.resolve()
  private isStopping = false

  constructor(parts: ResealerParts) {
    this.parts = parts
  }

  async start(): Promise<void> {
    const { sealing, isShared } = this.parts
    if (this.phase === 'running') return
    const before = this.phase
    // Before the first wait: two requests must not make two keys.
    this.phase = 'running'
    try {
      await sealing.ready()
      if (sealing.keyIds().length === 1) {
        if (isShared) throw new RpcError('resealInCluster')
        await sealing.addKey()
      }
    } catch (error) {
      this.phase = before
      throw error
    }
    this.counts = { accesses: 0, resealed: 0, unreadable: 0 }
    this.reason = undefined
    this.running = this.run().then(
      () => this.end('done'),
      (error: unknown) => {
        this.reason = error instanceof Error ? error.message : String(error)
        this.end('failed')
      },
    )
  }

  state(): ResealState {
    const [keyId = null, ...formerKeyIds] = this.parts.sealing.keyIds()
    const { reason } = this
    return {
      keyId,
      formerKeyIds,
      state: this.phase,
      ...this.counts,
      ...(reason === undefined ? {} : { reason }),
    }
  }

  async stop(): Promise<void> {
    this.isStopping = true
    await this.running
  }

  private end(phase: 'done' | 'failed'): void {
    this.phase = phase
    this.parts.onEnd(this.state())
  }

  private async run(): Promise<void> {
    const { isShared, sealing, settle } = this.parts
    await settle()
    for (let pass = 0; ; pass++) {
      if (pass === PASSES_MAX) throw new Error('changes with a former key go on: run it again')
      if ((await this.pass()) === 0) break
    }
    // Those of the other machines may still be needed: the operator removes them everywhere.
    if (!isShared) await sealing.dropFormerKeys()
  }

  /** Reads all accesses once; answers how many were not sealed with the first key. */
  private async pass(): Promise<number> {
    const { store } = this.parts
    this.counts = { ...this.counts, accesses: 0, unreadable: 0 }
    let found = 0
    let after = ''
    for (;;) {
      if (this.isStopping) throw new Error('the service ended or was reloaded: run it again')
      store.resetRead()
      const page: AccessDocument[] = []
      for (const [accessId, access] of store.accesses.from(after)) {
        if (accessId !== after) page.push(access)
        if (page.length === PAGE) break
      }
      const looked = page.map(access => this.reseal(access))
      const old = looked.filter(({ resealed }) => resealed > 0)
      for (const { unreadable } of looked) this.counts.unreadable += unreadable
      for (let at = 0; at < old.length; at += CHANGES_MAX)
        await Promise.all(
          old.slice(at, at + CHANGES_MAX).map(({ access }) => this.change(access.accessId)),
        )
      found += old.length
      this.counts.accesses += page.length
      const last = page.at(-1)
      if (page.length < PAGE || last === undefined) return found
      after = last.accessId
      await nextTurn()
    }
  }

  private async change(accessId: string): Promise<void> {
    let resealed = 0
    try {
      await this.parts.journal.propose({
        accessId,
        update: current => {
          if (current === undefined) throw new Unchanged()
          const changed = this.reseal(current)
          resealed = changed.resealed
          if (resealed === 0) throw new Unchanged()
          return changed.access
        },
      })
      this.counts.resealed += resealed
    } catch (error) {
      // Another change came first: the next pass finds it again.
      if (!(error instanceof Unchanged) && !isLost(error)) throw error
    }
  }

  /** The access with everything sealed with the first key; what no key unseals stays. */
  private reseal(access: AccessDocument): Resealed {
    const { sealing } = this.parts
    let resealed = 0
    let unreadable = 0
    const changed = mapSealed(access, (sealed, context) => {
      if (sealing.isCurrent(sealed, context)) return sealed
      let text: string
      try {
        text = sealing.unseal(sealed, context)
      } catch {
        unreadable++
        return sealed
      }
      resealed++
      return sealing.seal(text, context)
    })
    return { access: changed, resealed, unreadable }
  }
}

export const createResealer = (parts: ResealerParts): Resealer => new AccessResealer(parts)
