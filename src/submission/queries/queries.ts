import { RpcError } from '../../shared/errors.js'
import type { Members } from '../../shared/values.js'
import type { SubmissionQuery } from '../relay/relay-types.js'
import { findSigned, findSubmission } from '../store/find-submission.js'
import type { Options } from '../store/options.js'
import type { StoreReader } from '../store/store-reader.js'
import { formatId, parseId } from '../store/submission-id.js'
import type { FoundSubmission, StoredSubmission, Submission } from '../store/submission.js'
import { isSignature, toPageQuery, toPerformanceQuery, type PerformanceQuery } from './filters.js'
import { toView } from './view.js'

/** Longest search for one page, which then continues with the next one. */
const SEARCH_MS = 200
/** Submissions that are looked at in one turn of the event loop: about 0.5 ms. */
const VISIT_MAX = 100

export type QueryParts = {
  readonly network: string
  readonly reader: Pick<StoreReader, 'get' | 'findSigned' | 'search'>
  readonly options: Pick<Options, 'ageMsMax' | 'awaitedMs' | 'findMs'>
  /** Unix milliseconds. */
  readonly now: () => number
  /** Looks it up at the sender, which asks other machines. */
  readonly findElsewhere: (query: SubmissionQuery) => Promise<FoundSubmission | undefined>
  /** What became of the submissions of an access, by lane, as JSON. */
  readonly lanes: (accessId: string, query: PerformanceQuery) => Promise<string>
}

const NULL = Buffer.from('null')

/** What accesses ask of their submissions to one network. Those of others are unknown to them. */
export class SubmissionQueries {
  private readonly parts: QueryParts

  constructor(parts: QueryParts) {
    this.parts = parts
  }

  async find(accessId: string, key: string): Promise<Uint8Array> {
    const id = parseId(key)
    if (id === undefined && !isSignature(key)) throw new RpcError('submissionKey')
    const found =
      id === undefined ? await this.bySignature(accessId, key) : await this.byId(accessId, id)
    return found === undefined ? NULL : toBytes(toView(found, this.times))
  }

  async list(accessId: string, members: Members): Promise<Uint8Array> {
    const { network, now, reader } = this.parts
    const { before, filter, from, limit } = toPageQuery(members)
    const { found, next } = await reader.search(
      { ...filter, accessId, network },
      { before, from, countMax: limit, limitMs: SEARCH_MS, visitMax: VISIT_MAX, now },
    )
    return toBytes({
      submissions: found.map(one => toView(one, this.times)),
      next: next === undefined ? null : formatId(next),
    })
  }

  async performance(accessId: string, members: Members): Promise<Uint8Array> {
    const query = toPerformanceQuery(members, this.parts.now())
    return Buffer.from(await this.parts.lanes(accessId, query))
  }

  private get times(): Parameters<typeof toView>[1] {
    const { now, options } = this.parts
    return { nowMs: now(), awaitedMs: options.awaitedMs }
  }

  private isOwn(accessId: string, submission: Submission | undefined): submission is Submission {
    return submission?.accessId === accessId && submission.network === this.parts.network
  }

  private async byId(accessId: string, id: Uint8Array): Promise<StoredSubmission | undefined> {
    const { now, options, reader } = this.parts
    // One of another access is waited for as one that is not there.
    const read = (): Submission | undefined => {
      const stored = reader.get(id)
      return this.isOwn(accessId, stored) ? stored : undefined
    }
    const submission =
      (await findSubmission(id, { read, now, options })) ??
      (await this.elsewhere(accessId, formatId(id)))?.submission
    return this.isOwn(accessId, submission) ? { id, submission } : undefined
  }

  private async elsewhere(accessId: string, key: string): Promise<StoredSubmission | undefined> {
    const { findElsewhere, network } = this.parts
    const found = await findElsewhere({ key, accessId, network }).catch(() => undefined)
    const id = parseId(found?.submissionId ?? '')
    if (id === undefined || !this.isOwn(accessId, found?.submission)) return undefined
    return { id, submission: found.submission }
  }

  /** The record of a submission follows its reply within `findMs`. */
  private async bySignature(
    accessId: string,
    signature: string,
  ): Promise<StoredSubmission | undefined> {
    const own = this.ownSigned(accessId, signature)
    if (own !== undefined) return own
    const elsewhere = this.elsewhere(accessId, signature)
    const read = (): StoredSubmission | undefined => this.ownSigned(accessId, signature)
    return (await findSigned(read, this.parts.options)) ?? elsewhere
  }

  private ownSigned(accessId: string, signature: string): StoredSubmission | undefined {
    const found = this.parts.reader.findSigned(accessId, signature)
    return this.isOwn(accessId, found?.submission) ? found : undefined
  }
}

const toBytes = (view: object): Uint8Array => Buffer.from(JSON.stringify(view))
