import { dieWithParent } from '../native/os.js'
import type { Assignment, DevChain, Order, Report, Role } from './messages.js'

/** What a role hands back once it runs. */
export type Running = {
  /** Told with the `ready` report. */
  readonly detail?: Readonly<Record<string, unknown>>
  readonly devChain?: DevChain
  onOrder?(order: Order): void
  /** Ends the role's work; the process exits with code 0 after it. */
  drain(): Promise<void>
}

/** Starts one role inside this process. */
export type Start = (assignment: Assignment, report: (report: Report) => void) => Promise<Running>

/** Each role's file is loaded only in its own process. */
const STARTS: Readonly<Record<Role, () => Promise<Start>>> = {
  edge: async () => (await import('./edge.js')).startEdge,
  indexer: async () => (await import('./indexer.js')).startIndexer,
  control: async () => (await import('./control.js')).startControl,
  sandbox: async () => (await import('../sandbox/process.js')).startSandbox,
}

/** True for the name of a role. */
export const isRole = (name: string): name is Role => Object.hasOwn(STARTS, name)

/** Runs this process as one child of a supervisor, until it is told to drain or its parent ends. */
export const runRole = (role: Role): void => {
  const report = (message: Report): void => {
    if (process.connected) process.send?.(message)
  }
  const fail = (error: unknown): void => {
    report({ kind: 'failed', message: error instanceof Error ? error.message : String(error) })
    // The report is on its way to another process: give it one turn before this one ends.
    setTimeout(() => process.exit(1), 50)
  }
  process.title = `slotline ${role}`
  if (process.send === undefined || !dieWithParent(process.ppid)) process.exit(1)
  // The supervisor alone hears the terminal's Ctrl-C and drains its children in order.
  process.on('SIGINT', () => {})
  process.on('SIGTERM', () => {})
  process.on('disconnect', () => process.exit(1))

  let running: Running | undefined
  let isDraining = false
  process.on('message', message => {
    const order = message as Order
    if (order.kind === 'start') {
      STARTS[role]()
        .then(start => start(order.assignment, report))
        .then(started => {
          running = started
          report({ kind: 'ready', detail: started.detail ?? {}, devChain: started.devChain })
        })
        .catch(fail)
    } else if (order.kind === 'drain') {
      if (isDraining) return
      isDraining = true
      Promise.resolve(running?.drain()).then(
        () => process.exit(0),
        () => process.exit(1),
      )
    } else if (order.kind === 'ping') report({ kind: 'pong' })
    else running?.onOrder?.(order)
  })
}
