type Init = {
  readonly method: string
  readonly headers: Record<string, string>
  readonly body?:
    ArrayBuffer | ReadableStream | URLSearchParams | Uint8Array | string | null | undefined
  readonly signal?: AbortSignal
}

/** A fetch of somebody else's server. */
export type Fetch = (url: string, init: Init) => Promise<Response>

/** A fetch that follows no redirect and reads no more than `bytesMax` of an answer. */
export const createBoundedFetch =
  (bytesMax: number): Fetch =>
  async (url, { body: sent = null, ...init }) => {
    // Types of the web leave out views of shared memory, which nobody has here.
    const body = sent as RequestInit['body']
    const response = await fetch(url, { ...init, body: body ?? null, redirect: 'manual' })
    const chunks: Uint8Array[] = []
    let byteCount = 0
    for await (const chunk of response.body ?? []) {
      byteCount += chunk.length
      // Leaving the loop cancels what is still on its way.
      if (byteCount > bytesMax) throw new Error(`the answer is longer than ${bytesMax} bytes`)
      chunks.push(chunk)
    }
    const { status, statusText, headers } = response
    const answer = byteCount === 0 ? null : Buffer.concat(chunks)
    return new Response(answer, { status, statusText, headers })
  }
