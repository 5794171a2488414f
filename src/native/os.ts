import * as addon from '#native'
import { callNative } from './errors.js'

/** Ends this process with its parent; false where the parent has ended already. */
export const dieWithParent = (parentPid: number): boolean =>
  callNative(() => addon.dieWithParent(parentPid))

/**
 * Asks for turns of at most so many microseconds of the processor for this thread, so that it need
 * not wait for the long turn of another when it wakes up; 0 is the system's own length. Linux
 * before 6.12 accepts it and changes nothing.
 */
export const setSlice = (micros: number): void => callNative(() => addon.setSlice(micros))

/**
 * Has this thread run before every ordinary one of the machine; false where the system does not
 * allow it (root, CAP_SYS_NICE or RLIMIT_RTPRIO). What it starts later is ordinary. Leave the
 * others a processor of their own.
 */
export const setRealtime = (): boolean => callNative(() => addon.setRealtime())

/** Takes `setRealtime` back, and any slice. */
export const setOrdinary = (): void => callNative(() => addon.setOrdinary())

/**
 * Bounds the bytes that the kernel takes and has not sent for each connection that this process
 * accepts from now on, and says how many sockets listen: a client that does not read shows after so
 * many bytes, and not after some MB.
 */
export const boundUnsent = (bytes: number): number => callNative(() => addon.boundUnsent(bytes))

/** Takes a lock file for the life of this process; false where another process holds it. */
export const lockFile = (path: string): boolean => callNative(() => addon.lockFile(path))

/** Maps `count` 8-byte cells that every process which maps the same file sees. */
export const sharedCells = (path: string, count: number): Float64Array =>
  callNative(() => addon.sharedCells(path, count))
