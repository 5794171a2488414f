import * as v from 'valibot'
import { createBoundedFetch } from '../http/bounded-fetch.js'
import { checked } from './shapes.js'

/** A location that takes longer does not work. */
const CHECK_TIMEOUT_MS = 10_000
/** Longest answer to the call: it has a blockhash, or a message. */
const ANSWER_BYTES_MAX = 16_384

const latestBlockhash = v.object({
  result: v.object({
    context: v.object({ slot: v.number() }),
    value: v.object({ blockhash: v.pipe(v.string(), v.maxLength(64)) }),
  }),
})
const failure = v.object({ error: v.object({ message: v.string() }) })

const fetchBounded = createBoundedFetch(ANSWER_BYTES_MAX)

const readAnswer = async (response: Response): Promise<unknown> => {
  try {
    return await response.json()
  } catch {
    return undefined
  }
}

/** Calls a location; nothing of the URL is in what it resolves to. */
export type CheckUrl = (rpcUrl: string) => Promise<v.InferOutput<typeof checked>>

/** Calls `getLatestBlockhash` at an RPC URL. */
export const checkUrl: CheckUrl = async rpcUrl => {
  const started = performance.now()
  const elapsed = (): number => Math.round(performance.now() - started)
  const nothing = { slot: null, blockhash: null, message: null }
  try {
    const response = await fetchBounded(rpcUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getLatestBlockhash' }),
      signal: AbortSignal.timeout(CHECK_TIMEOUT_MS),
    })
    const [status, elapsedMs] = [response.status, elapsed()]
    const answer = await readAnswer(response)
    const good = v.safeParse(latestBlockhash, answer)
    if (good.success) {
      const { context, value } = good.output.result
      return { status, elapsedMs, slot: context.slot, blockhash: value.blockhash, message: null }
    }
    const parsed = v.safeParse(failure, answer)
    const message = parsed.success ? parsed.output.error.message.slice(0, 200) : null
    return { ...nothing, status, elapsedMs, message }
  } catch {
    return { ...nothing, status: null, elapsedMs: elapsed() }
  }
}
