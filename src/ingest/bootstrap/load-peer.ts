import { createHash } from 'node:crypto'
import { createWriteStream, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { PeerCertificate } from 'node:tls'
import { Client, type Dispatcher } from 'undici'
import { openStoreInspector } from '../../native/store-inspector.js'
import type { StoreOptions } from '../../native/store.js'
import type { StepProgress } from '../../shared/indexer-status.js'
import { DATA_FILE } from '../../storage/backup-draft.js'
import { parseLabel, type BackupLabel } from '../../storage/backup.js'
import { demandDiskSpace } from '../../storage/disk-space.js'
import { COPY_HEADER, copyPath } from '../../storage/peer-copies.js'
import type { LoadedBase, LoadStore, SpoolView } from './bootstrap.js'
import type { Options } from './options.js'

/** The certificate of this machine, as PEM. */
export type PeerIdentity = { readonly ca: Buffer; readonly cert: Buffer; readonly key: Buffer }

/** Dependencies of a load from another machine of the cluster. */
export type PeerParts = {
  /** The machine, by the name of its certificate, and where its peer API is. */
  readonly machine: string
  readonly url: string
  readonly identity: PeerIdentity
  readonly network: string
  readonly storeOptions: StoreOptions
  readonly diskReserveBytes: number
  readonly options: Pick<Options, 'peerCopyMs' | 'peerSilenceMs'>
}

const toClient = ({ identity, machine, url, options }: PeerParts): Client =>
  new Client(new URL(url).origin, {
    headersTimeout: options.peerCopyMs,
    bodyTimeout: options.peerSilenceMs,
    connect: {
      ...identity,
      servername: machine,
      // A machine is known by its name, wherever it is.
      checkServerIdentity: (_host: string, { subject }: PeerCertificate) =>
        subject.CN === machine ? undefined : new Error(`not the certificate of ${machine}`),
    },
  })

/** What the machine will send, by its headers. Throws if it refuses. */
const readLabel = async (
  { machine, network }: PeerParts,
  { statusCode, headers, body }: Dispatcher.ResponseData,
): Promise<BackupLabel> => {
  const text = headers[COPY_HEADER]
  const label = typeof text === 'string' ? parseLabel(text) : undefined
  if (statusCode === 200 && label?.network === network) return label
  await body.dump()
  if (statusCode === 503) throw new Error(`${machine} makes a copy for another machine: try again`)
  if (statusCode === 404) throw new Error(`${machine} has no store of network ${network}`)
  throw new Error(`${machine} sends no copy: its answer is ${statusCode}`)
}

const download = async (
  parts: PeerParts,
  dir: string,
  show: (progress: StepProgress) => void,
  signal: AbortSignal,
): Promise<BackupLabel> => {
  const { machine, network, diskReserveBytes } = parts
  const client = toClient(parts)
  try {
    show({ done: 0, total: 0, unit: 'bytes', detail: `${machine} copies its store` })
    const response = await client.request({ method: 'GET', path: copyPath(network), signal })
    const label = await readLabel(parts, response)
    mkdirSync(dir, { mode: 0o700 })
    demandDiskSpace(dir, label.bytes, diskReserveBytes)
    const hash = createHash('sha256')
    let done = 0
    const count = new Transform({
      transform(chunk: Buffer, _encoding, next) {
        done += chunk.length
        hash.update(chunk)
        show({ done, total: label.bytes, unit: 'bytes', detail: `from ${machine}` })
        next(
          done > label.bytes ? new Error(`${machine} sends more than it announced`) : null,
          chunk,
        )
      },
    })
    const file = createWriteStream(join(dir, DATA_FILE), { mode: 0o600, flush: true })
    await pipeline(response.body, count, file, { signal })
    if (done !== label.bytes || hash.digest('hex') !== label.sha256)
      throw new Error(`the copy of ${machine} is not what it announced`)
    return label
  } finally {
    await client.destroy()
  }
}

/** Opens the copy, which proves that it is a store of this configuration, and compares its tip. */
const checkTip = ({ machine, storeOptions }: PeerParts, dir: string, label: BackupLabel): void => {
  const store = openStoreInspector(dir, storeOptions)
  const tip = store.tip()
  store.close()
  if (tip?.slot !== label.slot || tip.blockhash !== label.blockhash)
    throw new Error(`the copy of ${machine} does not end with slot ${label.slot}`)
}

const load = async (
  parts: PeerParts,
  dir: string,
  spool: SpoolView,
  show: (progress: StepProgress) => void,
  signal: AbortSignal,
): Promise<LoadedBase> => {
  const label = await download(parts, dir, show, signal)
  spool.check()
  const { first } = spool.stats()
  if (first !== undefined && first.parentSlot > label.slot)
    throw new Error(
      `the store of ${parts.machine} ends at slot ${label.slot}, before the feed begins: it lags`,
    )
  checkTip(parts, dir, label)
  return { slot: label.slot }
}

/** Loads the store of another machine of the cluster, which copies it as of one block. */
export const loadPeer = (parts: PeerParts): LoadStore => ({
  startSlot: () => Promise.resolve(undefined),
  load: (dir, spool, show, signal) => load(parts, dir, spool, show, signal),
})
