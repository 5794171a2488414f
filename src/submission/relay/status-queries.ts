import type { Id } from '../../shared/jsonrpc.js'
import { isMap, parseJson } from '../../shared/values.js'
import { UpstreamFailure } from '../../upstream/errors.js'
import type { UpstreamReply } from '../../upstream/reply.js'
import type { Engine } from './engine.js'
import type { EngineQueue } from './engine-queue.js'
import type { StatusQuery } from './relay-types.js'

type StatusOptions = { readonly statusSharedMs: number; readonly statusSharedMax: number }

type StatusModules = {
  readonly engine: Pick<Engine, 'askStatuses'>
  readonly queue: Pick<EngineQueue, 'enter'>
  /** Monotonic milliseconds. */
  readonly now: () => number
}

/** A request to the engine whose answer is shared. */
type Shared = {
  /** Of the call that the engine was asked with. */
  readonly id: Id
  readonly answer: Promise<UpstreamReply>
  /** Until then the answer is shared: `Infinity` before there is one. */
  endMs: number
  /** The answer's members except `id`, as JSON; null where it is no object. */
  members?: string | null
}

/** Status queries to an engine. Equal ones share one request and, for a while, its answer. */
export class StatusQueries {
  private readonly options: StatusOptions
  private readonly modules: StatusModules
  /** By method and bundle ids. */
  private readonly shared = new Map<string, Shared>()

  constructor(options: StatusOptions, modules: StatusModules) {
    this.options = options
    this.modules = modules
  }

  /** The engine's answer under the call's id. Rejects with an UpstreamFailure. */
  async ask(query: StatusQuery): Promise<UpstreamReply> {
    const key = `${query.method} ${query.bundleIds.join(' ')}`
    let shared = this.shared.get(key)
    if (shared === undefined || shared.endMs <= this.modules.now()) shared = this.start(key, query)
    return withId(await shared.answer, shared, query.id)
  }

  private start(key: string, query: StatusQuery): Shared {
    const shared: Shared = { id: query.id, answer: this.send(query), endMs: Infinity }
    this.shared.delete(key)
    this.shared.set(key, shared)
    const [oldest] = this.shared.keys()
    if (this.shared.size > this.options.statusSharedMax && oldest !== undefined)
      this.shared.delete(oldest)
    const forget = (): void => {
      if (this.shared.get(key) === shared) this.shared.delete(key)
    }
    shared.answer.then(({ status }) => {
      if (status === 200) shared.endMs = this.modules.now() + this.options.statusSharedMs
      else forget()
    }, forget)
    return shared
  }

  private async send({ method, bundleIds, id, accessId }: StatusQuery): Promise<UpstreamReply> {
    if (!(await this.modules.queue.enter(accessId)))
      throw new UpstreamFailure('full', 'no token for a status query')
    return this.modules.engine.askStatuses(method, bundleIds, id)
  }
}

/** The answer to another call of the same query. Its bytes change only where the ids differ. */
const withId = (first: UpstreamReply, shared: Shared, id: Id): UpstreamReply => {
  if (id === shared.id) return first
  if (shared.members === undefined) shared.members = membersWithoutId(first.body)
  if (shared.members === null) return first
  const body = Buffer.from(`${shared.members.slice(0, -1)},"id":${id}}`)
  return { ...first, body }
}

const membersWithoutId = (body: Buffer): string | null => {
  const parsed = parseJson(body.toString())
  if (!isMap(parsed)) return null
  const { id: _id, ...rest } = parsed
  return Object.keys(rest).length === 0 ? null : JSON.stringify(rest)
}
