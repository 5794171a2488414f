import { dieWithParent } from '../native/os.js'
import { explainError } from '../shared/files/system-error.js'
import type { Assignments, Command, DrainMode, Role, SendEvent } from '../supervision/messages.js'
import { exitWithFailure, type Running, type Start } from './start.js'

const loadChainProvider = async (
  assignment: Assignments['chain-provider'] | undefined,
): Promise<Start<'chain-provider'>> => {
  if (assignment === undefined) throw new Error('a chain provider has no code without assignment')
  const { start } = (await import(assignment.chainProvider.module)) as {
    readonly start: Start<'chain-provider'>
  }
  return start
}

/** Each role's code is loaded in its own process only. */
const LOADERS: {
  readonly [R in Role]: (assignment?: Assignments[R]) => Promise<Start<R>>
} = {
  edge: async () => (await import('./edge.js')).startEdge,
  indexer: async () => (await import('./indexer.js')).startIndexer,
  control: async () => (await import('./control.js')).startControl,
  follower: async () => (await import('./follower.js')).startFollower,
  'chain-provider': loadChainProvider,
}

/** True for the name of a role. */
export const isRole = (name: string): name is Role => Object.hasOwn(LOADERS, name)

const send: SendEvent = event => {
  if (process.connected) process.send?.(event)
}

const start = async <R extends Role>(role: R, assignment: Assignments[R]): Promise<Running> => {
  const startRole = await LOADERS[role](assignment)
  const running = await startRole(assignment, send)
  send({ kind: 'ready', detail: running.detail ?? {}, chain: running.chain })
  return running
}

const fail = (error: unknown): void => exitWithFailure(send, explainError(error))

/** Runs this process as one child of a supervisor, until it is drained or its parent ends. */
export const runRole = (role: Role): void => {
  process.title = `slotline ${role}`
  if (process.send === undefined || !dieWithParent(process.ppid)) process.exit(1)
  // The supervisor alone reacts to the signals that a terminal sends to all of them, and drains its
  // children in order.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {})
  process.on('disconnect', () => process.exit(1))

  let running: Running | undefined
  let isDraining = false
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
    else if (command.kind === 'load') LOADERS[role]().then(() => process.exit(0), fail)
    else if (command.kind !== 'start') running?.onCommand?.(command)
    else start(role, command.assignment).then(started => (running = started), fail)
  })
}
