// Idle WebSockets: the memory of each, compared with that of a bare server on uWebSockets.js
// takes for it. Then one frame to all of them, against the bare server's own publish. Sketch for
// each idle socket: ours is one object of the transport, one of the session, and their places in
// three sets: 400 bytes. A publish additionally takes one look-up of the topic.
import { runJob, startChild } from '../child.js'
import type { IdleSockets, IdleSocketsResult } from '../load-generators/idle-sockets.js'
import type { Context } from '../context.js'
import type { Listening, Start } from '../peers/sockets.js'
import { median } from '../report/report.js'

/** Targets of docs/performance.md. */
const OWN_BYTES_MAX = 2_048
const OF_BARE = 0.8

const WARM_COUNT = 500
const PUBLISH_TIMES = 20
/** About an account of 165 bytes in base64, as a notification. */
const FRAME_BYTES = 480

const measure = async ({ plan, dir }: Context, isBare: boolean): Promise<IdleSocketsResult> => {
  const start = { isBare, dir, socketCount: plan.socketCount }
  const peer = await startChild<Start, Listening>('peers/sockets.js', start)
  try {
    return await runJob<IdleSockets, IdleSocketsResult>('load-generators/idle-sockets.js', {
      port: peer.answer.port,
      count: plan.socketCount,
      warmCount: WARM_COUNT,
      publishTimes: PUBLISH_TIMES,
      frameBytes: FRAME_BYTES,
    })
  } finally {
    await peer.stop()
  }
}

/** One change to many subscribers. */
export const benchWebsockets = async (context: Context): Promise<void> => {
  const { plan, report, note } = context
  const bare: IdleSocketsResult[] = []
  const ours: IdleSocketsResult[] = []
  for (let round = 0; round < plan.socketRounds; round++) {
    bare.push(await measure(context, true))
    ours.push(await measure(context, false))
  }
  const of = (rounds: readonly IdleSocketsResult[], key: keyof IdleSocketsResult): number =>
    median(rounds.map(round => round[key]))
  note(
    `${plan.socketCount} sockets; each takes ${Math.round(of(bare, 'rssBytes'))} bytes of a bare server and ` +
      `${Math.round(of(ours, 'rssBytes'))} of ours, of which ${Math.round(of(bare, 'heapBytes'))} and ` +
      `${Math.round(of(ours, 'heapBytes'))} on the heap of V8`,
  )
  report({
    name: 'an idle WebSocket, our own memory',
    value: of(ours, 'rssBytes') - of(bare, 'rssBytes'),
    unit: 'bytes',
    better: 'lower',
    target: OWN_BYTES_MAX,
    isTail: true,
  })
  const ratios = (key: 'publishMicros' | 'publishCpuMicros'): number =>
    median(bare.map((round, index) => round[key] / (ours[index]?.[key] ?? NaN)))
  note(
    `one frame to one socket: bare ${of(bare, 'publishMicros').toFixed(2)} µs, ours ` +
      `${of(ours, 'publishMicros').toFixed(2)} µs`,
  )
  report({
    name: `a frame to ${plan.socketCount} sockets, ours / bare publish`,
    value: ratios('publishCpuMicros'),
    unit: '×',
    better: 'higher',
    target: OF_BARE,
    detail: `${ratios('publishMicros').toFixed(2)} × by the clock`,
  })
}
