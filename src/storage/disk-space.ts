import { statfsSync, statSync } from 'node:fs'

/** Bytes that an ordinary process can still write in the file system of a folder. */
export const freeBytes = (dir: string): number => {
  const { bavail, bsize } = statfsSync(dir)
  return bavail * bsize
}

/** Throws if a copy of this size would leave the indexer no space to write. */
export const demandDiskSpace = (dir: string, bytes: number, reserveBytes: number): void => {
  const free = freeBytes(dir)
  const needed = bytes + reserveBytes
  if (free < needed)
    throw new Error(
      `${dir} has ${free} bytes free, but ${needed} are needed: about ${bytes} for the copy and ` +
        `${reserveBytes} of store.diskReserveBytes`,
    )
}

/** How often the size of a file that is being written is read. */
const SIZE_POLL_MS = 250

/** Reports the size of a file until its writing has ended. */
export const watchFileSize = async (
  file: string,
  written: Promise<void>,
  onSize: (bytes: number) => void,
): Promise<void> => {
  const poll = (): void => onSize(statSync(file, { throwIfNoEntry: false })?.size ?? 0)
  const timer = setInterval(poll, SIZE_POLL_MS)
  await written.finally(() => clearInterval(timer))
}
