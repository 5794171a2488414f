import { RpcError } from '../../shared/errors.js'
import type { Reply } from '../../shared/http.js'
import type { Id } from '../../shared/jsonrpc.js'
import { isMap } from '../../shared/values.js'
import type { SubmissionReply } from '../failure.js'
import { parseJson } from '../parse-json.js'
import type { Engine } from './engine.js'
import type { EngineQueue } from './engine-queue.js'

/** A query about bundles. */
export type StatusQuery = {
  readonly method: string
  readonly bundleIds: readonly string[]
  /** Of the call, as JSON. */
  readonly id: Id
  readonly accessId: string
}

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
  readonly reply: Promise<SubmissionReply>
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

  /** The engine's answer under the call's id. Throws RpcErrors where there is none. */
  async ask(query: StatusQuery): Promise<SubmissionReply> {
    const key = `${query.method} ${query.bundleIds.join(' ')}`
    let shared = this.shared.get(key)
    if (shared === undefined || shared.endMs <= this.modules.now()) shared = this.start(key, query)
    return withId(await shared.reply, shared, query.id)
  }

  private start(key: string, query: StatusQuery): Shared {
    const shared: Shared = { id: query.id, reply: this.send(query), endMs: Infinity }
    this.shared.delete(key)
    this.shared.set(key, shared)
    const [oldest] = this.shared.keys()
    if (this.shared.size > this.options.statusSharedMax && oldest !== undefined)
      this.shared.delete(oldest)
    const forget = (): void => {
      if (this.shared.get(key) === shared) this.shared.delete(key)
    }
    shared.reply.then(({ reply }) => {
      if (reply.status === 200) shared.endMs = this.modules.now() + this.options.statusSharedMs
      else forget()
    }, forget)
    return shared
  }

  private async send({ method, bundleIds, id, accessId }: StatusQuery): Promise<SubmissionReply> {
    if (!(await this.modules.queue.enter(accessId))) throw new RpcError('overLimit')
    return this.modules.engine.askStatuses(method, bundleIds, id)
  }
}

/** The answer to another call of the same query. Its bytes change only where the ids differ. */
const withId = (first: SubmissionReply, shared: Shared, id: Id): SubmissionReply => {
  if (id === shared.id) return first
  const { reply } = first
  if (shared.members === undefined) shared.members = membersWithoutId(reply.body)
  if (shared.members === null) return first
  const body = Buffer.from(`${shared.members.slice(0, -1)},"id":${id}}`)
  return { ...first, reply: { ...reply, body } }
}

const membersWithoutId = (body: Reply['body']): string | null => {
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) return null
  const parsed = parseJson(Buffer.from(body).toString())
  if (!isMap(parsed)) return null
  const { id: _id, ...rest } = parsed
  return Object.keys(rest).length === 0 ? null : JSON.stringify(rest)
}
