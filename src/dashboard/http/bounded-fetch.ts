type Init = {
  readonly method: string
  readonly headers: Record<string, string>
  readonly body?:
    ArrayBuffer | ReadableStream | URLSearchParams | Uint8Array | string | null | undefined
  readonly signal?: AbortSignal
}

/** The part of fetch that openid-client uses. */
export type Fetch = (url: string, init: Init) => Promise<Response>

/** A fetch that follows no redirects, and reads at most `bytesMax` of a response. */
export const createBoundedFetch =
  (bytesMax: number): Fetch =>
  async (url, { body: sent = null, ...init }) => {
    // The types of the web exclude views of shared memory, which do not occur here.
    const body = sent as RequestInit['body']
    const response = await fetch(url, { ...init, body: body ?? null, redirect: 'manual' })
    const chunks: Uint8Array[] = []
    let byteCount = 0
    for await (const chunk of response.body ?? []) {
      byteCount += chunk.length
      // Leaving the loop cancels the rest of the body.
      if (byteCount > bytesMax) throw new Error(`the answer is longer than ${bytesMax} bytes`)
      chunks.push(chunk)
    }
    const { status, statusText, headers } = response
    const answer = byteCount === 0 ? null : Buffer.concat(chunks)
    return new Response(answer, { status, statusText, headers })
  }
