#!/usr/bin/env node
import { exitOnClosedOutput } from './cli/closed-output.js'
import { formatError, UsageError } from './cli/command.js'
import { createProgram } from './cli/program.js'

// Inherited by every process: what the service makes is its user's alone (files 0600, folders
// 0700), even if a library creates it.
process.umask(0o077)
exitOnClosedOutput()

createProgram(process.env)
  .parseAsync()
  .catch((error: unknown) => {
    process.stderr.write(formatError(error))
    process.exit(error instanceof UsageError ? 2 : 1)
  })
