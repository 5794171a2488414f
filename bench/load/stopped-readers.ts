// A thousand subscribers of a busy stream that stop reading: how soon they are closed, and what
// another client feels of it, against the time when they read.
import { runJob, startChild } from '../child.js'
import type { SocketLatencyResult, SocketLatency } from '../load-generators/socket-latency.js'
import type { StoppedSubscribers } from '../load-generators/stopped-subscribers.js'
import { openControl } from '../load-generators/socket.js'
import type { Context } from '../context.js'
import type { Listening, Start } from '../peers/sockets.js'
import { median } from '../report/report.js'

const COUNT = 1_000
/** 150 KB a second for each of them. */
const FRAME = { everyMs: 40, bytes: 6_000 }
const READ_MS = 4_000
/** The latency client's connection and this process's own. */
const OTHERS = 2
const CLOSED_MS_MAX = 10_000
/** The bound: what the others feel may grow by a tenth. */
const P99_OF_READING_MAX = 1.1
const GIVE_UP_MS = 30_000
const MB = 1024 ** 2

type Round = { readonly reading: SocketLatencyResult; readonly stopped: SocketLatencyResult }

const runRound = async (dir: string): Promise<Round> => {
  const start = { isBare: false, dir, socketCount: COUNT }
  const peer = await startChild<Start, Listening>('peers/sockets.js', start)
  const { port } = peer.answer
  try {
    const stoppedSubscribers = await startChild<StoppedSubscribers, null>(
      'load-generators/stopped-subscribers.js',
      {
        port,
        count: COUNT,
        readMs: READ_MS,
      },
    )
    try {
      const stopAtMs = performance.now() + READ_MS
      const command = await openControl(port)
      await command({ kind: 'stream', ...FRAME })
      const ask = (durationMs: number, untilSockets: number) =>
        runJob<SocketLatency, SocketLatencyResult>('load-generators/socket-latency.js', {
          port,
          durationMs,
          untilSockets,
        })
      const reading = await ask(READ_MS * 0.75, 0)
      await new Promise(resolve => setTimeout(resolve, stopAtMs - performance.now()))
      const stopped = await ask(GIVE_UP_MS, OTHERS)
      if (stopped.last.lagging !== COUNT)
        throw new Error(`${stopped.last.lagging} of ${COUNT} stopped readers were closed`)
      return { reading, stopped }
    } finally {
      await stoppedSubscribers.stop()
    }
  } finally {
    await peer.stop()
  }
}

/** Readers that stop: all are closed in time, and the others are not slower. */
export const benchStoppedReaders = async ({ plan, dir, report, note }: Context): Promise<void> => {
  const rounds: Round[] = []
  for (let round = 0; round < plan.socketRounds; round++) rounds.push(await runRound(dir))
  const of = (value: (round: Round) => number): number => median(rounds.map(value))
  note(
    `${COUNT} subscribers of ${FRAME.bytes} bytes each ${FRAME.everyMs} ms; another client's p50 and p99 while they ` +
      `read ${of(({ reading }) => reading.p50).toFixed(2)} and ${of(({ reading }) => reading.p99).toFixed(2)} ms, from ` +
      `their stop until the last is closed ${of(({ stopped }) => stopped.p50).toFixed(2)} and ` +
      `${of(({ stopped }) => stopped.p99).toFixed(2)} ms; at most ` +
      `${Math.round(of(({ stopped }) => stopped.queuedBytesMax) / MB)} MB queued, ` +
      `${Math.round(of(({ stopped }) => stopped.rssMax) / MB)} MB of memory in all`,
  )
  report({
    name: `${COUNT} stopped readers, from their stop until all are closed`,
    value: of(({ stopped }) => stopped.elapsedMs),
    unit: 'ms',
    better: 'lower',
    target: CLOSED_MS_MAX,
    isTail: true,
  })
  report({
    name: 'p99 of another client, beside stopped / reading ones',
    value: of(({ reading, stopped }) => stopped.p99 / reading.p99),
    unit: '×',
    better: 'lower',
    target: P99_OF_READING_MAX,
    isTail: true,
  })
}
