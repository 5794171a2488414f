import { constants, mkdirSync, openSync } from 'node:fs'
import { senderPath } from '../store/store-reader.js'

/**
 * The path of the socket on which the sender of a data directory listens: by the descriptor of its
 * folder, because a path of a socket has at most 107 bytes.
 */
export const openSocketPath = (dataDir: string): string => {
  const path = senderPath(dataDir)
  mkdirSync(path, { recursive: true, mode: 0o700 })
  const folder = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY)
  return `/proc/self/fd/${folder}/sender.sock`
}
