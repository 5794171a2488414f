import { type Declaration, defaultsOf } from './options/declaration.js'

/** Bounds of the log, which is JSON lines on standard output. */
export type Options = Readonly<typeof defaults>

export const options = {
  level: {
    default: 'info',
    words: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
    why: 'Least level that is written.',
  },
} satisfies Declaration

/** All bounds; those that are no option are settable in code only. */
export const defaults = {
  ...defaultsOf(options),
  /** Buffer for lines while standard output is not read; further lines are dropped and counted. */
  bufferBytesMax: 1024 ** 2,
  /** A longer line is cut, so that one strange request cannot fill the disk. */
  lineCharsMax: 16_384,
}
