/** Bounds of the log, which is JSON lines on standard output. */
export type Options = Readonly<typeof defaults>

export const defaults = {
  /** Least level that is written: trace, debug, info, warn, error, fatal or silent. */
  level: 'info',
  /** Buffer for lines while standard output is not read; further lines are dropped and counted. */
  bufferBytesMax: 1024 ** 2,
  /** A longer line is cut, so that one strange request cannot fill the disk. */
  lineCharsMax: 16_384,
}

/** Levels that `level` may name. */
export const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
