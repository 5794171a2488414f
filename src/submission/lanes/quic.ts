import { openQuicLane, type LaneOptions, type LaneSent } from '../../native/upstream/quic-lane.js'
import type { Lane, LaneConfig, LaneEnd, LaneParts, SignedTransaction } from './lane.js'
import type { Preset } from './presets.js'
import { createToWords } from './words.js'

/** What a kind adds to a connection. */
export type QuicForm = {
  readonly identity: Pick<LaneOptions, 'key' | 'isProtected' | 'seed'>
  /** Reads the bytes that ended a stream with an answer. */
  readonly readAnswer: (
    answer: Uint8Array,
    transaction: SignedTransaction,
  ) => Pick<LaneEnd, 'outcome' | 'hasSignature' | 'status' | 'words'>
  readonly answerBytesMax: number
}

const UNANSWERED = { hasSignature: false, status: null } as const

/** The host and the port of `quic://host:port`. */
const addressOf = ({ hostname, port }: URL) => ({
  host: hostname.replace(/^\[(.*)\]$/, '$1'),
  port: Number(port),
})

/** A lane over a QUIC connection: a stream for each transaction. */
export const openLaneOverQuic = (
  config: LaneConfig,
  preset: Preset,
  form: QuicForm,
  { log, metrics, network, now }: LaneParts,
): Lane => {
  const { credential, id, streamsMax, streamWaitMs } = config
  const url = new URL(config.url)
  const toWords = createToWords(credential, url)
  const address = addressOf(url)
  const quic = openQuicLane({
    ...address,
    ...form.identity,
    ...{ streamsMax, streamWaitMs },
    serverName: preset.serverName ?? address.host,
    protocol: preset.protocol,
    isAnswered: preset.isAnswered,
    answerBytesMax: form.answerBytesMax,
    answerWaitMs: config.answerMs,
    connectWaitMs: config.quicConnectMs,
    keepAliveMs: preset.keepAliveMs,
    idleMs: preset.idleMs,
    pauseMinMs: config.pauseMinMs,
    pauseMaxMs: config.pauseMaxMs,
  })
  const labels = { network, lane: id }
  const isUp = metrics.gauge('laneConnected', labels)
  const connects = metrics.gauge('laneConnects', labels)
  metrics.beforeSnapshot(() => {
    const state = quic.state()
    isUp.set(state.isConnected ? 1 : 0)
    connects.set(state.connects)
  })
  const report = async (): Promise<void> => {
    let wasUp = false
    let isFirst = true
    for (let state = quic.state(); !state.isClosed;) {
      // oxlint-disable-next-line no-await-in-loop
      state = await quic.after(state.version)
      if (state.isClosed) return
      const { isConnected, reason } = state
      if (isConnected && !wasUp) log.info(labels, 'a lane is connected')
      // oxlint-disable-next-line no-await-in-loop
      const why = isConnected || !(wasUp || isFirst) ? undefined : await toWords(reason)
      if (why !== undefined) log.warn({ ...labels, reason: why }, 'a lane is not connected')
      wasUp = isConnected
      isFirst = false
    }
  }
  void report().catch((err: unknown) => log.error({ err, ...labels }, 'a lane is not followed'))
  const toEnd = async (
    { answer, end, reason, writtenAfterMs }: LaneSent,
    calledMs: number,
    transaction: SignedTransaction,
  ): Promise<LaneEnd> => {
    const read =
      end === 'answered'
        ? form.readAnswer(answer ?? new Uint8Array(), transaction)
        : { ...UNANSWERED, outcome: end, words: reason }
    const writtenMs = writtenAfterMs === undefined ? null : calledMs + writtenAfterMs
    return { ...read, writtenMs, words: await toWords(read.words) }
  }
  return {
    isDown: () => !quic.state().isConnected,
    isReachable: () => quic.state().isConnected,
    send: async transaction => {
      const calledMs = now()
      return toEnd(await quic.send(transaction.bytes), calledMs, transaction)
    },
    inFlight: () => quic.inFlight(),
    close: async () => quic.close(),
  }
}
