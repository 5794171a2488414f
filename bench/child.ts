import { fork, type ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Message of a child: that it is ready, or its result. */
type Message = { readonly answer: unknown } | { readonly failure: string }

/** A process that this one started. */
export type Child<Answer> = {
  readonly pid: number
  readonly answer: Answer
  /** Another message, which its script listens to. */
  send(message: object): void
  /** False once it has ended, stopped or not. */
  isRunning(): boolean
  /** Ends it, by its pid. Resolves when it has ended. */
  stop(): Promise<void>
}

/**
 * Longest wait for a child's answer, beyond the duration that a job is given: the longest other job
 * is a peer that fills its store.
 */
const ANSWER_MS_MAX = 180_000

/** Scripts that give their event loop a realtime priority. */
const REALTIME: ReadonlySet<string> = new Set([
  'load-generators/open-loop.js',
  'load-generators/sequential.js',
  'load-generators/slots/sockets.js',
  'load-generators/slots/streams.js',
  'peers/upstream.js',
])
/**
 * By default the main thread waits for V8's other threads during a garbage collection, without
 * sleeping. Those have no realtime priority, so two such processes can occupy both processors until
 * the kernel throttles realtime threads, after 0.95 s.
 */
const REALTIME_FLAGS = ['--single-threaded-gc']

const isRunning = ({ exitCode, signalCode }: ChildProcess): boolean =>
  exitCode === null && signalCode === null

/** Ends a process that this one started, and waits until it has ended. */
export const stopProcess = (child: ChildProcess): Promise<void> =>
  new Promise(resolve => {
    if (!isRunning(child)) return resolve()
    child.once('exit', () => resolve())
    child.kill('SIGKILL')
  })

/**
 * Starts a script of the bench and waits for what it answers to `start`. Its type is the script's
 * promise.
 */
export const startChild = async <Start, Answer>(
  script: string,
  start: Start,
  durationMs = 0,
): Promise<Child<Answer>> => {
  const path = fileURLToPath(new URL(script, import.meta.url))
  const child = fork(path, [], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    serialization: 'advanced',
    execArgv: [...process.execArgv, ...(REALTIME.has(script) ? REALTIME_FLAGS : [])],
  })
  try {
    const message = await new Promise<Message>((resolve, reject) => {
      const waitMs = durationMs + ANSWER_MS_MAX
      const late = setTimeout(() => reject(new Error(`${script}: no answer`)), waitMs)
      child.once('message', answer => {
        clearTimeout(late)
        resolve(answer as Message)
      })
      child.once('error', reject)
      child.once('exit', (code, signal) =>
        reject(new Error(`${script}: ended with ${String(signal ?? code)}`)),
      )
      child.send({ start })
    })
    if ('failure' in message) throw new Error(`${script}: ${message.failure}`)
    return {
      pid: child.pid ?? 0,
      answer: message.answer as Answer,
      send: message => void child.send(message),
      isRunning: () => isRunning(child),
      stop: () => stopProcess(child),
    }
  } catch (error) {
    await stopProcess(child)
    throw error
  }
}

/** Runs a script of the bench that does one job, and ends it. */
export const runJob = async <Start extends object, Answer>(
  script: string,
  start: Start,
): Promise<Answer> => {
  const durationMs = 'durationMs' in start ? Number(start.durationMs) : 0
  const child = await startChild<Start, Answer>(script, start, durationMs)
  await child.stop()
  return child.answer
}

/** In a child: performs a request of the parent and replies with the result. */
export const onStart = <Start, Answer>(work: (start: Start) => Answer | Promise<Answer>): void => {
  // A bench that was interrupted must leave nothing behind.
  process.once('disconnect', () => process.exit(0))
  process.once('message', message => {
    const { start } = message as { readonly start: Start }
    Promise.resolve()
      .then(() => work(start))
      .then(
        answer => process.send?.({ answer }),
        (error: unknown) => process.send?.({ failure: String(error) }),
      )
  })
}

/** Processor time of a process, all threads, in ms. */
export type CpuTimes = { readonly userMs: number; readonly systemMs: number }

/** Processor time that a process has used up to now; undefined where the system does not say. */
export const cpuTimesOf = (pid: number): CpuTimes | undefined => {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The name in parentheses may hold blanks, so fields are counted from its end; one tick is 10
    // ms on Linux.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { userMs: Number(fields[11]) * 10, systemMs: Number(fields[12]) * 10 }
  } catch {
    return undefined
  }
}

/** The same in one number. */
export const cpuMsOf = (pid: number): number | undefined => {
  const times = cpuTimesOf(pid)
  return times && times.userMs + times.systemMs
}
