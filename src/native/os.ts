import * as addon from '#native'
import { callNative } from './errors.js'

/** Ends this process with its parent; false if the parent has ended already. */
export const dieWithParent = (parentPid: number): boolean =>
  callNative(() => addon.dieWithParent(parentPid))

/**
 * Requests a time slice of at most `micros` microseconds for this thread, so that it does not wait
 * for the longer slice of another thread when it wakes; 0 is the system's default. Linux before
 * 6.12 accepts it without effect.
 */
export const setSlice = (micros: number): void => callNative(() => addon.setSlice(micros))

/**
 * Makes this thread realtime, so that it runs before every ordinary thread of the machine; false if
 * the system does not allow it (root, CAP_SYS_NICE or RLIMIT_RTPRIO). Threads and processes that it
 * starts later are ordinary. Leave the others a core.
 */
export const setRealtime = (): boolean => callNative(() => addon.setRealtime())

/** Reverts `setRealtime` and `setSlice`. */
export const setOrdinary = (): void => callNative(() => addon.setOrdinary())

/**
 * Limits the unsent bytes in the send buffer of each socket that this process accepts from now on;
 * returns the number of listening sockets. A client that does not read is detected after that many
 * bytes instead of some MB.
 */
export const boundUnsent = (bytes: number): number => callNative(() => addon.boundUnsent(bytes))

/** Sends a message to the datagram socket of a service manager. Throws if it is not taken. */
export const notifyServiceManager = (socket: string, message: string): void =>
  callNative(() => addon.notifyServiceManager(socket, message))

/**
 * Milliseconds since the machine was started, by a clock that counts while it is suspended and that
 * nobody sets.
 */
export const bootMs = (): number => callNative(() => addon.bootMs())

/** Takes a lock file until this process exits; false if another process holds it. */
export const lockFile = (path: string): boolean => callNative(() => addon.lockFile(path))

/**
 * Locks the file of a descriptor for this process and every one that inherits it; false if another
 * process holds the lock.
 */
export const lockDescriptor = (descriptor: number): boolean =>
  callNative(() => addon.lockDescriptor(descriptor))

/**
 * Opens a listening TCP socket for child processes: connections wait in its queue until one of them
 * accepts, and the queue outlives them. Returns its descriptor.
 */
export const openListener = (host: string, port: number): number =>
  callNative(() => addon.openListener(host, port))

/**
 * Opens a bound UDP socket for child processes. Several may be bound to one port. Returns its
 * descriptor.
 */
export const openDatagrams = (host: string, port: number): number =>
  callNative(() => addon.openDatagrams(host, port))

/**
 * Decides which UDP socket of a port gets a packet of QUIC, by the slots of the edges: those that
 * have connections, and those that take new ones. Slots count the sockets of the port in the order
 * in which they were opened; `descriptor` is any of them.
 */
export const routeDatagrams = (
  descriptor: number,
  slots: { readonly serving: readonly number[]; readonly accepting: readonly number[] },
): void => {
  const { serving, accepting } = slots
  callNative(() =>
    addon.routeDatagrams(descriptor, Uint8Array.from(serving), Uint8Array.from(accepting)),
  )
}

/**
 * Creates or extends a file so that its first `byteLength` bytes are on disk. A hole in a mapped
 * file would end the process (SIGBUS) if it were first written while the disk is full. Throws if
 * the disk is full. A process that has locks on the file would lose them.
 */
export const allocateFile = (path: string, byteLength: number): void =>
  callNative(() => addon.allocateFile(path, byteLength))

/**
 * Maps `count` 8-byte cells, shared by every process that maps the same file. All of them are on
 * disk: throws if it is full.
 */
export const sharedCells = (path: string, count: number): Float64Array =>
  callNative(() => addon.sharedCells(path, count))

/** Cells of the shared memory of the processes that native code reads, too. */
export const { ACCESS_VERSION_CELL, LEASE_END_CELL } = addon
