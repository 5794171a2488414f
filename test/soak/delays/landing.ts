import { setTimeout as sleep } from 'node:timers/promises'
import { startDeployment } from '../../fixtures/processes/deployment.js'
import { openSubscriber } from '../../fixtures/pubsub/subscriber.js'
import { soakTest } from '../../fixtures/soak.js'
import { createSubmitter } from '../../fixtures/submission/sandbox-submitter.js'
import { until } from '../../fixtures/until.js'

const COUNT = 40
/** From the commit of a block to the notification of what landed in it. */
const DELAY_MS_MAX = 50

/**
 * A slot is notified right after the commit of its block, on the same socket, so the difference is
 * the time that submissions take longer.
 */
soakTest('what landed is told within 50 ms of its block', { timeout: 120_000 }, async t => {
  const { description } = await startDeployment(t, { args: ['--edges', '1'] })
  const [{ wsUrl }] = description.locations
  const submitter = createSubmitter(description)
  const subscriber = await openSubscriber(wsUrl)
  const slots = new Map<number, number>()
  const told: { readonly slot: number; readonly atMs: number }[] = []
  subscriber.onNotification(({ method, result }) => {
    const { slot, state } = result as { readonly slot?: number; readonly state?: string }
    if (slot === undefined) return
    if (method === 'slotNotification') slots.set(slot, performance.now())
    else if (state === 'in-block') told.push({ slot, atMs: performance.now() })
  })
  await subscriber.subscribe('slotSubscribe')
  await subscriber.subscribe('submissionSubscribe')
  for (let count = 0; count < COUNT; count++) {
    await submitter.lander(await submitter.forLander())
    await sleep(70)
  }
  await until('all have landed', () => told.length === COUNT)
  await until('their slots are notified', () => told.every(({ slot }) => slots.has(slot)))
  // A slot may be notified after what landed in it.
  const delays = told.map(({ atMs, slot }) => Math.max(0, atMs - (slots.get(slot) ?? 0)))
  const sorted = delays.toSorted((one, other) => one - other)
  const [median = 0, late = 0] = [sorted[COUNT / 2], sorted[Math.floor(COUNT * 0.95)]]
  t.comment(`p50 ${median.toFixed(1)} ms, p95 ${late.toFixed(1)} ms`)
  t.ok(late <= DELAY_MS_MAX, `p95 ${late} ms`)
  subscriber.close()
})
