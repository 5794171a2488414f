import { dieWithParent } from '../native/os.js'
import { explainError } from '../shared/files/system-error.js'
import type { Assignments, Command, DrainMode, Role, SendEvent } from '../supervision/messages.js'
import { exitWithFailure, type Running, type Start } from './start.js'

const send: SendEvent = event => {
  if (process.connected) process.send?.(event)
}

const fail = (error: unknown): void => exitWithFailure(send, explainError(error))

/**
 * Runs this process as one child of a supervisor, until it is drained or its parent ends. `load`
 * imports the code of the role: the supervisor learns why it cannot be loaded.
 */
export const runRole = <R extends Role>(role: R, load: () => Promise<Start<R>>): void => {
  process.title = `slotline ${role}`
  if (process.send === undefined || !dieWithParent(process.ppid)) process.exit(1)
  // The supervisor alone reacts to the signals that a terminal sends to all of them, and drains its
  // children in order.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {})
  process.on('disconnect', () => process.exit(1))

  let running: Running | undefined
  let isDraining = false
  const start = async (assignment: Assignments[R]): Promise<void> => {
    const startRole = await load()
    running = await startRole(assignment, send)
    send({ kind: 'ready', detail: running.detail ?? {}, chain: running.chain })
  }
  const drain = (mode: DrainMode): void => {
    if (isDraining) return
    isDraining = true
    Promise.resolve(running?.drain(mode)).then(
      () => process.exit(0),
      () => process.exit(1),
    )
  }
  process.on('message', message => {
    const command = message as Command
    if (command.kind === 'drain') drain(command)
    else if (command.kind === 'ping') send({ kind: 'pong' })
    else if (command.kind === 'load') load().then(() => process.exit(0), fail)
    else if (command.kind !== 'start') running?.onCommand?.(command)
    else start(command.assignment as Assignments[R]).catch(fail)
  })
}
