import { describeSystemError } from '../shared/files/system-error.js'

/** As a shell reports a program that a closed pipe has ended: 128 and the number of SIGPIPE. */
const CLOSED_PIPE = 141

/**
 * Ends the command where its output cannot be written. What reads it may end first, as `head` does;
 * then nothing is said.
 */
export const exitOnClosedOutput = (): void => {
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') process.exit(CLOSED_PIPE)
      if (stream === process.stdout)
        process.stderr.write(
          `slotline: the output cannot be written: ${describeSystemError(error)}\n`,
        )
      process.exit(1)
    })
}
