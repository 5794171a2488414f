import { request as requestPlain, type IncomingMessage } from 'node:http'
import { request as requestTls } from 'node:https'
import type { Options } from './bootstrap-options.js'

/** How a server of snapshots is asked. */
export type SnapshotServerOptions = Pick<Options, 'resolveMs'> & {
  /** PEM of a private certificate authority, in place of the system's. */
  readonly caCertificatePem?: string | undefined
}

/** The head of an answer. */
export type SnapshotHead = Pick<IncomingMessage, 'headers'>

/** Asks for what a server would send. Rejects with the system's code for why it does not answer, which holds no URL. */
export const askHead = (
  url: string,
  { caCertificatePem: ca }: SnapshotServerOptions,
  signal: AbortSignal,
): Promise<SnapshotHead> =>
  new Promise((resolve, reject) => {
    const isTls = new URL(url).protocol === 'https:'
    // Asked once in minutes: no connection is kept.
    const options = { method: 'HEAD', agent: false as const, signal }
    const hear = (answer: IncomingMessage): void => {
      answer.on('error', () => {}).resume()
      resolve(answer)
    }
    const sent = isTls
      ? requestTls(url, ca === undefined ? options : { ...options, ca }, hear)
      : requestPlain(url, options, hear)
    sent.on('error', (error: NodeJS.ErrnoException) =>
      reject(new Error(signal.aborted ? 'no answer' : (error.code ?? 'no answer'))),
    )
    sent.end()
  })
