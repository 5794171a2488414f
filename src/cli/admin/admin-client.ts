import { isIPv6 } from 'node:net'
import { readAdminToken } from '../../access/tokens/admin-token.js'
import type { Config } from '../../config/config.js'

/** Maximum wait for an answer: a revocation may wait for the end of an edge. */
const ANSWER_MS = 30_000

/** Maximum wait for any answer of the server, which a process that is stuck does not give. */
const PROBE_MS = 1_200

/** What the body of a change says of the machines of a cluster. */
type Effect = {
  readonly revision: number
  readonly deadAtMs: number
  readonly machines: readonly { readonly id: string; readonly by: string }[]
}

/** URL and token of the admin API. */
export type AdminTarget = { readonly url: string; readonly tokenFile: string }

/** One call of the admin API. */
export type AdminCall = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Path after `/admin`. */
  readonly path: string
  readonly body?: unknown
}

/** The admin API of the local service with this configuration. */
export const targetOf = ({ dashboard, access }: Config): AdminTarget => {
  const isAny = dashboard.host === '0.0.0.0' || dashboard.host === '::'
  const host = isAny ? '127.0.0.1' : dashboard.host
  return {
    url: `http://${isIPv6(host) ? `[${host}]` : host}:${dashboard.port}`,
    tokenFile: access.adminTokenFile,
  }
}

/** Of a repeated change whose first answer was lost: since when it is in effect, and where. */
const describeEffect = (effect: unknown): string => {
  const { deadAtMs, machines, revision } = Object(effect) as Partial<Effect>
  if (deadAtMs === undefined || machines === undefined) return ''
  const names = machines.map(({ id, by }) => `${id} (${by})`).join(', ')
  const since = new Date(deadAtMs).toISOString()
  return `; in effect since ${since} at revision ${revision}, on ${names}`
}

const messageOf = (status: number, text: string): string => {
  try {
    const { error, effect } = Object(JSON.parse(text))
    const message: unknown = error?.message
    if (typeof message === 'string') return message + describeEffect(effect)
  } catch {
    // No JSON of this service: another server listens there.
  }
  return `the admin API answered with status ${status}`
}

/** Throws if a server accepts and does not answer; the call reports every other failure. */
const probe = async (url: string): Promise<void> => {
  const signal = AbortSignal.timeout(PROBE_MS)
  try {
    await fetch(`${url}/`, { method: 'HEAD', redirect: 'manual', signal })
  } catch (error) {
    if (!signal.aborted) return
    throw new Error(
      `the admin API at ${url} has not answered for ${PROBE_MS} ms: its process is stuck, and is restarted`,
      { cause: error },
    )
  }
}

/** Calls the admin API; undefined if the answer is empty. Throws one line for the operator. */
export const callAdmin = async (target: AdminTarget, call: AdminCall): Promise<unknown> => {
  const token = readAdminToken(target.tokenFile)
  const url = `${target.url}/admin${call.path}`
  let status: number
  let text: string
  await probe(target.url)
  try {
    const response = await fetch(url, {
      method: call.method,
      headers: {
        authorization: `Bearer ${token.reveal()}`,
        ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
      redirect: 'error',
      signal: AbortSignal.timeout(ANSWER_MS),
    })
    status = response.status
    text = await response.text()
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new Error(`the admin API at ${target.url} cannot be reached: ${reason}`, {
      cause: error,
    })
  }
  if (status < 200 || status > 299) throw new Error(messageOf(status, text))
  return text === '' ? undefined : (JSON.parse(text) as unknown)
}
