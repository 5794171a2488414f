import { Client } from 'undici'
import { systemAuthorities } from '../../native/system-authorities.js'
import type { Options as ArchiveOptions } from './archive-options.js'
import type { Options } from './options.js'

/** How a server of snapshots is accessed. */
export type SnapshotServerOptions = Pick<Options, 'resolveMs'> & {
  /** Bounds of its transfers. */
  readonly archive: ArchiveOptions
  /** PEM of a private certificate authority, in place of the system's. */
  readonly caCertificatePem?: string | undefined
}

/** Headers of an answer. */
export type SnapshotHead = {
  /** Target of a redirect. */
  readonly location: string | undefined
  /** Size of the archive; 0 where it is unknown. */
  readonly bytes: number
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'no answer'

/** A server's refusal, or the system's code for why it does not answer. It contains no URL. */
class HeadFailure extends Error {}

/**
 * Asks for what a server would send. Rejects if it refuses or does not answer; no word of that
 * contains the URL.
 */
export const askHead = async (
  url: string,
  { archive, caCertificatePem }: SnapshotServerOptions,
  signal: AbortSignal,
): Promise<SnapshotHead> => {
  const { origin, protocol, pathname, search } = new URL(url)
  const ca = protocol === 'https:' ? { ca: caCertificatePem ?? systemAuthorities() } : {}
  const client = new Client(origin, { connect: { timeout: archive.connectMs, ...ca } })
  try {
    const path = pathname + search
    const { body, headers, statusCode } = await client.request({ method: 'HEAD', path, signal })
    await body.dump()
    if (statusCode >= 400) throw new HeadFailure(`it answers ${statusCode}`)
    const { location, 'content-length': length } = headers
    return {
      location: typeof location === 'string' ? location : undefined,
      bytes: Number(length ?? 0) || 0,
    }
  } catch (error) {
    if (error instanceof HeadFailure) throw error
    throw new HeadFailure(signal.aborted ? 'no answer' : codeOf(error), { cause: error })
  } finally {
    await client.destroy()
  }
}
