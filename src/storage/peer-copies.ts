import { spawn, type ChildProcess } from 'node:child_process'
import { createReadStream, mkdirSync, rmSync, type ReadStream } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Log } from '../shared/log.js'
import { DATA_FILE } from './backup-draft.js'
import { readLabel } from './backup.js'
import { currentGeneration, storesPath } from './generations.js'

/** Header of a copy: its label, as `slotline backup` writes it. */
export const COPY_HEADER = 'slotline-copy'
/** Path of a copy of a network's store in the peer API. */
export const copyPath = (network: string): string => `/networks/${network}/copy`

const PROGRAM = fileURLToPath(import.meta.resolve('#programs/main'))
/** Folder of the copy that is sent, on the disk of the stores. */
const FOLDER = 'peer-copy'

/** A copy to send, or the status of a refusal. */
type Copy =
  | { readonly headers: Readonly<Record<string, string | number>>; readonly stream: ReadStream }
  | 404
  | 500
  | 503

/** Copies of the stores of this machine, in its peer API. */
export type PeerCopies = {
  readonly path: string
  open(params: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Copy>
}

export type PeerCopiesParts = {
  readonly dataDir: string
  /** Networks that have a store. */
  readonly networks: readonly string[]
  readonly log: Log
}

/** `slotline backup`, in a process of its own: a store may have hundreds of GB. */
const backUp = async (
  { dataDir, log }: PeerCopiesParts,
  network: string,
  target: string,
  signal: AbortSignal,
): Promise<boolean> => {
  const args = [PROGRAM, 'backup', '--data-dir', dataDir, '--network', network, '--to', target]
  const child: ChildProcess = spawn(process.execPath, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    signal,
  })
  let errors = ''
  child.stderr?.on('data', chunk => (errors = `${errors}${String(chunk)}`.slice(-1_000)))
  const code = await new Promise<number | null>(resolve => {
    child.once('error', () => resolve(null))
    child.once('close', resolve)
  })
  if (code !== 0 && !signal.aborted) log.warn({ network, errors }, 'a copy for a peer failed')
  return code === 0
}

/** Copies of stores for other machines of the cluster, one at a time: each takes its disk space. */
export const createPeerCopies = (parts: PeerCopiesParts): PeerCopies => {
  const { dataDir, networks } = parts
  const folder = join(dataDir, FOLDER)
  rmSync(folder, { recursive: true, force: true })
  let isBusy = false
  return {
    path: copyPath(':network'),
    open: async ({ network = '' }, signal) => {
      if (!networks.includes(network)) return 404
      if (isBusy) return 503
      isBusy = true
      const target = join(folder, network)
      const end = (): void => {
        rmSync(folder, { recursive: true, force: true })
        isBusy = false
      }
      try {
        const hasStore = currentGeneration(storesPath(dataDir, network)) !== undefined
        mkdirSync(folder, { mode: 0o700 })
        if (!hasStore || !(await backUp(parts, network, target, signal))) {
          end()
          return hasStore ? 500 : 404
        }
        const label = readLabel(target)
        const stream = createReadStream(join(target, DATA_FILE))
        stream.once('close', end)
        return {
          headers: { [COPY_HEADER]: JSON.stringify(label), 'content-length': label.bytes },
          stream,
        }
      } catch (error) {
        end()
        throw error
      }
    },
  }
}
