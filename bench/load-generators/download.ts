// Pulls large replies without pause, each checked byte for byte: pages, and long lists of accounts.
import { Client } from 'undici'
import { onStart } from '../child.js'
import { toBackground } from './background.js'
import type { Exchange, Target } from './connection.js'

export type Download = {
  readonly target: Target
  /** Asked one after the other, then again from the first. */
  readonly exchanges: readonly Exchange[]
  readonly connectionCount: number
  readonly warmMs: number
  readonly durationMs: number
  /** True where the client must not take processor time from the measured process. */
  readonly isBackground: boolean
}

/** Its results; times in milliseconds. */
export type DownloadResult = {
  readonly repliesPerSecond: number
  readonly megabytesPerSecond: number
  readonly p50: number
  readonly p99: number
  readonly failures: number
}

onStart<Download, DownloadResult>(async job => {
  if (job.isBackground) toBackground()
  const replies = job.exchanges.map(exchange => Buffer.from(exchange.reply))
  const samples: number[] = []
  let failures = 0
  let bytes = 0
  const measureFrom = performance.now() + job.warmMs
  const endsAt = measureFrom + job.durationMs

  const pull = async (first: number): Promise<void> => {
    const client = new Client(`http://127.0.0.1:${job.target.port}`)
    for (let nth = first; performance.now() < endsAt; nth++) {
      const index = nth % job.exchanges.length
      const from = performance.now()
      const response = await client.request({
        method: 'POST',
        path: job.target.path,
        headers: { 'content-type': 'application/json' },
        body: job.exchanges[index]?.body ?? '',
      })
      const reply = Buffer.from(await response.body.arrayBuffer())
      if (response.statusCode !== 200 || replies[index]?.equals(reply) !== true) failures += 1
      else if (from >= measureFrom) {
        samples.push(performance.now() - from)
        bytes += reply.length
      }
    }
    await client.close()
  }
  await Promise.all(Array.from({ length: job.connectionCount }, (_, first) => pull(first)))

  samples.sort((a, b) => a - b)
  const at = (share: number) =>
    samples[Math.min(samples.length - 1, Math.floor(samples.length * share))]
  const seconds = (performance.now() - measureFrom) / 1000
  return {
    repliesPerSecond: samples.length / seconds,
    megabytesPerSecond: bytes / 1e6 / seconds,
    p50: at(0.5) ?? NaN,
    p99: at(0.99) ?? NaN,
    failures,
  }
})
