#!/usr/bin/env node
import { formatError } from './cli/command.js'
import { createProgram } from './cli/program.js'

createProgram()
  .parseAsync()
  .catch((error: unknown) => {
    process.stderr.write(formatError(error))
    process.exit(1)
  })
