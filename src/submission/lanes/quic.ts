import { openQuicLane, type LaneSent } from '../../native/upstream/quic-lane.js'
import type { Lane, LaneConfig, LaneEnd, LaneParts, SignedTransaction } from './lane.js'
import type { Preset } from './presets.js'
import { toIdentity } from './quic-identity.js'
import { createToWords } from './words.js'

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
  { log, metrics, network, now }: LaneParts,
): Lane => {
  const { credential, id, streamsMax, streamWaitMs } = config
  const url = new URL(config.url)
  const toWords = createToWords(credential, url)
  const address = addressOf(url)
  const { answers, prefix } = preset
  const toBytes = (bytes: Buffer): Uint8Array =>
    prefix === undefined ? bytes : Buffer.concat([Buffer.of(prefix), bytes])
  const quic = openQuicLane({
    ...address,
    ...toIdentity(config, preset),
    ...{ streamsMax, streamWaitMs },
    serverName: preset.serverName ?? address.host,
    protocol: preset.protocol,
    isAnswered: answers !== undefined,
    answerBytesMax: answers?.bytesMax ?? 0,
    answerHeadBytes: answers?.headBytes ?? 0,
    answerLengthBytes: answers?.lengthBytes ?? 0,
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
    const outcome = end === 'answered' ? 'unknown' : end
    const read =
      answers === undefined || answer === undefined
        ? { ...UNANSWERED, outcome, words: reason }
        : answers.read(answer, transaction)
    const writtenMs = writtenAfterMs === undefined ? null : calledMs + writtenAfterMs
    return { ...read, writtenMs, words: await toWords(read.words) }
  }
  return {
    isDown: () => !quic.state().isConnected,
    isReachable: () => quic.state().isConnected,
    send: async transaction => {
      const calledMs = now()
      return toEnd(await quic.send(toBytes(transaction.bytes)), calledMs, transaction)
    },
    inFlight: () => quic.inFlight(),
    close: async () => quic.close(),
  }
}
