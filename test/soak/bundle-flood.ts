import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { defaults } from '../../src/submission/relay/options.js'
import { openRawUpstream } from '../fixtures/submission/raw-upstream.js'
import { openMachine, post, sendBundle, toBundle } from '../fixtures/submission/relay.js'
import { acceptedResult, json } from '../fixtures/submission/relay-engine.js'

const { requestsPerSecondMax, requestsBurstMax } = defaults
const INTERVAL_MS = 1_000 / requestsPerSecondMax
const FLOOD_MS = 50
const BUNDLES = 20
/** Of a busy machine, and of a client's own timer: one that is late by that waits a turn more. */
const SLACK_MS = 300

t.test(
  'a neighbour that sends 20 bundles a second costs one who retries when told a turn',
  async t => {
    const engine = await openRawUpstream(t, (socket, { body }) => {
      socket.write(json('200 OK', { jsonrpc: '2.0', result: acceptedResult(body), id: 1 }))
    })
    const relay = { requestsPerSecondMax, requestsBurstMax }
    const { edges } = await openMachine(t, { urls: [engine.url], relay, edgeCount: 2 })
    let count = 0
    const send = (access: string) => {
      const port = edges[count % edges.length]?.port ?? 0
      const bundle = toBundle('/relay-bundle', `${access} ${count++}`, 1)
      const body = sendBundle('/relay-bundle', bundle)
      return post(port, '/relay-bundle', body, { 'x-access': access })
    }
    const stop = new AbortController()
    let taken = 0
    const flooding = (async () => {
      const sent: Promise<void>[] = []
      const one = async (): Promise<void> => {
        if ((await send('flood')).json.error === undefined) taken++
      }
      while (!stop.signal.aborted) {
        sent.push(one())
        await sleep(FLOOD_MS)
      }
      await Promise.all(sent)
    })()
    const tookMs: number[] = []
    for (let bundle = 0; bundle < BUNDLES; bundle++) {
      // At every phase of the rate.
      await sleep(((bundle * 7) % BUNDLES) * (INTERVAL_MS / BUNDLES))
      const begunMs = performance.now()
      for (;;) {
        const { headers, json } = await send('obedient')
        if (json.error === undefined) break
        t.equal(headers['retry-after'], '1')
        await sleep(1_000)
      }
      tookMs.push(performance.now() - begunMs)
    }
    stop.abort()
    await flooding
    const sorted = tookMs.toSorted((one, other) => one - other).map(Math.round)
    const [p50, most] = [sorted[BUNDLES / 2] ?? 0, sorted.at(-1) ?? Infinity]
    t.comment(`p50 ${p50} ms, longest ${most} ms; the neighbour sent ${taken}: ${sorted.join(' ')}`)
    t.ok(most <= 2 * INTERVAL_MS + SLACK_MS, `longest ${most} ms`)
    t.ok(taken >= BUNDLES / 2, 'the neighbour has its turns, too')
  },
)
