import { Agent, request } from 'node:https'
import * as v from 'valibot'
import type { Identity } from '../etcd/client.js'
import type { MachineDirectory } from '../machine-directory.js'
import type { Options } from '../options.js'
import { commonNameOf } from './common-name.js'

/** An unused connection is closed after this, before the other machine closes it. */
const IDLE_MS = 30_000
/** Unused connections to one machine. */
const IDLE_MAX = 2

/** What the machines answered that did so in time. */
export type PeerAnswers<T> = {
  readonly answers: readonly T[]
  /** Ids of those that did not, or whose answer is no answer. */
  readonly missing: readonly string[]
}

/** The same with the machine of each answer: its certificate names it, not what it sent. */
export type EachAnswer<T> = Pick<PeerAnswers<T>, 'missing'> & {
  readonly each: readonly { readonly machine: string; readonly answer: T }[]
}

export type PeerClientParts = {
  readonly identity: Identity
  /** Of this machine, which is not called. */
  readonly machine: string
  readonly directory: Pick<MachineDirectory, 'list'>
  readonly options: Pick<Options, 'peerMs' | 'peerCallsMax' | 'peerAnswerBytesMax'>
  readonly onCall: (machine: string, outcome: 'answered' | 'missing') => void
}

export type ReadOptions = {
  /** Longest wait for an answer, in place of `peerMs`. */
  readonly limitMs?: number
  /** Machines that are not called. */
  readonly without?: ReadonlySet<string>
}

type Response = { readonly status: number | undefined; readonly text: string }
type Peer = { readonly id: string; readonly url: string | undefined }

/** Reads from the other machines of the cluster, all at once. */
export class PeerClient {
  private readonly parts: PeerClientParts
  private readonly agent
  private readonly inFlight = new Map<string, number>()

  constructor(parts: PeerClientParts) {
    this.parts = parts
    this.agent = new Agent({
      ...parts.identity,
      // A machine is identified by its name, at any address. Node 24 does not reuse a connection
      // whose request has this option, so the agent has it.
      checkServerIdentity: (id, certificate) =>
        commonNameOf(certificate) === id ? undefined : new Error(`not machine ${id}`),
      keepAlive: true,
      maxFreeSockets: IDLE_MAX,
      timeout: IDLE_MS,
    })
  }

  /** Reads a path of each other machine at the locations. */
  async read<S extends v.GenericSchema>(
    locations: readonly string[],
    path: string,
    schema: S,
    options: ReadOptions = {},
  ): Promise<PeerAnswers<v.InferOutput<S>>> {
    const { each, missing } = await this.readEach(locations, path, schema, options)
    return { answers: each.map(({ answer }) => answer), missing }
  }

  /** Reads a path of each other machine at the locations, and names those that answered. */
  async readEach<S extends v.GenericSchema>(
    locations: readonly string[],
    path: string,
    schema: S,
    { limitMs = this.parts.options.peerMs, without }: ReadOptions = {},
  ): Promise<EachAnswer<v.InferOutput<S>>> {
    const peers = this.peersAt(locations).filter(({ id }) => without?.has(id) !== true)
    const each: { machine: string; answer: v.InferOutput<S> }[] = []
    const missing: string[] = []
    await Promise.all(
      peers.map(async peer => {
        const result = v.safeParse(schema, await this.tryCall(peer, path, limitMs))
        if (result.success) each.push({ machine: peer.id, answer: result.output })
        else missing.push(peer.id)
      }),
    )
    return { each, missing: missing.toSorted() }
  }

  /** The first value that a machine at the location finds; undefined if none does in time. */
  async find<S extends v.GenericSchema>(
    location: string,
    path: string,
    schema: S,
  ): Promise<v.InferOutput<S> | undefined> {
    const calls = this.peersAt([location]).map(async peer =>
      v.parse(schema, await this.tryCall(peer, path)),
    )
    return Promise.any(calls).catch(() => undefined)
  }

  close(): void {
    this.agent.destroy()
  }

  private peersAt(locations: readonly string[]): readonly Peer[] {
    const { directory, machine } = this.parts
    return directory
      .list()
      .filter(({ id, location }) => id !== machine && locations.includes(location))
      .map(({ id, beat, isUnreachable }) => ({
        id,
        url: isUnreachable ? undefined : beat?.peerUrl,
      }))
  }

  /** What a machine answers; undefined if that is nothing. */
  private async tryCall(
    { id, url }: Peer,
    path: string,
    limitMs = this.parts.options.peerMs,
  ): Promise<unknown> {
    const { onCall, options } = this.parts
    const count = this.inFlight.get(id) ?? 0
    if (url === undefined || count >= options.peerCallsMax) {
      onCall(id, 'missing')
      return undefined
    }
    this.inFlight.set(id, count + 1)
    try {
      const { status, text } = await this.call(id, new URL(path, url), limitMs)
      onCall(id, 'answered')
      return status === 200 ? JSON.parse(text) : undefined
    } catch {
      onCall(id, 'missing')
      return undefined
    } finally {
      this.inFlight.set(id, (this.inFlight.get(id) ?? 1) - 1)
    }
  }

  private call(id: string, url: URL, limitMs: number): Promise<Response> {
    const { peerAnswerBytesMax } = this.parts.options
    return new Promise((resolve, reject) => {
      const call = request(
        url,
        {
          agent: this.agent,
          servername: id,
          signal: AbortSignal.timeout(limitMs),
        },
        response => {
          const chunks: Buffer[] = []
          let byteCount = 0
          response.on('data', (chunk: Buffer) => {
            byteCount += chunk.length
            chunks.push(chunk)
            if (byteCount > peerAnswerBytesMax) call.destroy(new Error('the answer is too long'))
          })
          response.on('error', reject)
          response.on('end', () =>
            resolve({ status: response.statusCode, text: Buffer.concat(chunks).toString() }),
          )
        },
      )
      call.on('error', reject)
      call.end()
    })
  }
}
