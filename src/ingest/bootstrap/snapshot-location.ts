import { basename } from 'node:path'
import { printableLocation } from '../../shared/indexer-status.js'
import { askHead, type SnapshotServerOptions } from './snapshot-server.js'
import { untrustedHint } from '../accounts-rpc/untrusted.js'

/** Slots in the name of a snapshot archive. */
export type SnapshotName = {
  readonly slot: number
  /** The slot that an incremental one builds on. */
  readonly base: number | undefined
}

/** A server that does not name its newest snapshot, although a location leads to it. */
class NoSnapshotNamed extends Error {}

/** Nothing was transferred: the server has not named a snapshot, and may do so later. */
export class SnapshotUnavailable extends Error {}

const NAME =
  /^(?:incremental-snapshot-(?<base>\d{1,15})|snapshot)-(?<slot>\d{1,15})-[1-9A-HJ-NP-Za-km-z]{32,44}\.tar(\.\w+)?$/

/** Reads the name that a validator gives an archive; undefined for any other. */
export const parseSnapshotName = (name: string): SnapshotName | undefined => {
  const groups = NAME.exec(name)?.groups
  const slot = groups?.['slot']
  if (slot === undefined) return undefined
  const base = groups?.['base']
  return { slot: Number(slot), base: base === undefined ? undefined : Number(base) }
}

/** Whether a location is a URL, and not a file. */
export const isUrl = (location: string): boolean => /^https?:\/\//i.test(location)

/**
 * The snapshot at a location, and for a URL the one that its redirects lead to. Throws if the
 * server does not answer within `resolveMs`, and where the name is none of a snapshot.
 */
export const resolveSnapshot = async (
  location: string,
  options: SnapshotServerOptions,
  stop?: AbortSignal,
): Promise<SnapshotName> => {
  let at = location
  if (isUrl(location)) {
    const limit = AbortSignal.timeout(options.resolveMs)
    const signal = stop === undefined ? limit : AbortSignal.any([limit, stop])
    for (let hops = 0; ; hops += 1) {
      const name = parseSnapshotName(basename(new URL(at).pathname))
      if (name !== undefined) return name
      const { location } = await askHead(at, options, signal).catch((error: unknown) => {
        stop?.throwIfAborted()
        const why = error instanceof Error ? error.message : 'no answer'
        const hint = untrustedHint(why, 'networks.snapshotsCaFile')
        throw new NoSnapshotNamed(
          `${printableLocation(at)} cannot be asked for its newest snapshot: ${why}${hint}`,
        )
      })
      if (location === undefined) break
      const { redirectsMax } = options.archive
      if (hops === redirectsMax)
        throw new Error(`${printableLocation(at)} redirects more than ${redirectsMax} times`)
      at = new URL(location, at).href
      if (!isUrl(at)) break
    }
  } else {
    const name = parseSnapshotName(basename(location))
    if (name !== undefined) return name
  }
  throw new Error(
    `${printableLocation(location)} has no name of a snapshot: snapshot-<slot>-<hash>.tar.zst, or ` +
      'incremental-snapshot-<base>-<slot>-<hash>.tar.zst',
  )
}

/**
 * The slot from which the feed must continue a snapshot. Throws SnapshotUnavailable where the
 * server is not reachable: only here, because nothing has been loaded yet.
 */
export const startSlotOf = async (
  location: string,
  options: SnapshotServerOptions,
  stop: AbortSignal,
): Promise<number> => {
  try {
    return (await resolveSnapshot(location, options, stop)).slot
  } catch (error) {
    if (error instanceof NoSnapshotNamed) throw new SnapshotUnavailable(error.message)
    throw error
  }
}
