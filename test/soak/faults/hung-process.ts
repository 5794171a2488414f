import { chmodSync, statSync } from 'node:fs'
import t, { type Test } from 'tap'
import { call, runToEnd, type Service } from '../../fixtures/processes/deployment.js'
import { requirePid } from '../../fixtures/processes/require-pid.js'
import { prepareServe } from '../../fixtures/processes/serve.js'
import { ERRORS } from '../../../src/shared/errors.js'
import { base64, TIPS } from '../../fixtures/sandbox/tipping.js'
import { GOOD, single } from '../../fixtures/submission/lander.js'
import { answer, openRawUpstream } from '../../fixtures/submission/raw-upstream.js'
import { startSandboxChain } from '../../../src/sandbox/sandbox-chain.js'
import { isSoak, latencyMax, soakTest } from '../../fixtures/soak.js'
import { until } from '../../fixtures/until.js'

/** A page or a command must answer within this beside a process that is stopped. */
const ANSWER_MS = latencyMax(2_000)
/** From the stop of a process to the end of its restart: five pings, and its start. */
const RECOVERY_MS = 15_000
/** Longer than the commands beside a stopped indexer take together on a busy machine. */
const COMMANDS_MS = 60_000
const NAMES = { edge: 'edge 0', indexer: 'indexer one', control: 'control' } as const
type Stopped = keyof typeof NAMES

const open = async (processes: object = {}) => {
  const chain = await startSandboxChain({ slotMs: 100 })
  t.teardown(() => chain.close())
  const feed = { endpoint: chain.geyserUrl, startSlot: 1 }
  return prepareServe(t, { one: feed }, { status: { writeMs: 200 }, processes })
}

const timed = async <T>(work: () => Promise<T>): Promise<readonly [T, number]> => {
  const startMs = performance.now()
  return [await work(), performance.now() - startMs]
}

/** Commands that need the indexer of the network, which is stopped. */
const loadBeside = async (t: Test, options: readonly string[]): Promise<void> => {
  const location = 'http://127.0.0.1:1/snapshot-1-11111111111111111111111111111111.tar.zst'
  const commands = [
    { args: ['snapshot', 'load', ...options, location], code: 1, what: 'starts the bootstrap' },
    { args: ['bootstrap', 'cancel', ...options], code: 2, what: 'cancels the bootstrap' },
  ]
  for (const { args, code, what } of commands) {
    const [ended, ms] = await timed(() => runToEnd(t, args))
    t.equal(ended.code, code, ended.output)
    t.match(ended.output, new RegExp(`has not answered for \\d+ ms: it ${what} when it runs again`))
    t.ok(ms < ANSWER_MS, `${args.slice(0, 2).join(' ')} ended after ${ms} ms`)
  }
}

t.test('a process that answers nothing for 5 s is restarted', async t => {
  const prepared = await open()
  // The mode of a folder that the service did not make.
  chmodSync(prepared.dataDir, 0o750)
  const service: Service = await prepared.start()
  t.equal(statSync(prepared.dataDir).mode & 0o777, 0o750, 'the mode is unchanged')
  t.match(service.output(), 'other users may open the data directory')
  const url = prepared.urlOf('one')
  await until('a slot is served', () => call(url, 'getSlot', []).then(Boolean, () => false))
  const page = async (): Promise<string> => (await fetch(prepared.metricsUrl)).text()
  const stuckOf = (text: string, role: string): number =>
    Number(
      new RegExp(`slotline_process_stuck_total\\{[^}]*role="${role}"\\} (\\d+)`).exec(text)?.[1],
    )
  const slotOf = (text: string): number =>
    Number(/slotline_tip_slot\{process="edge 0",network="one"\} (\d+)/.exec(text)?.[1])
  t.ok(slotOf(await page()) > 0)

  const roles: Stopped[] = isSoak ? ['edge', 'indexer', 'control'] : ['edge', 'control']
  for (const role of roles)
    await t.test(role, async t => {
      const config = ['--config', prepared.configFile]
      const stopped = requirePid(service.pidsOf(role)[0])
      process.kill(stopped, 'SIGSTOP')
      if (role === 'control') {
        const [listed, ms] = await timed(() => runToEnd(t, ['access', 'list', ...config]))
        t.equal(listed.code, 1)
        t.match(listed.output, /the admin API at \S+ has not answered for 1200 ms/)
        t.ok(ms < ANSWER_MS, `access list ended after ${ms} ms`)
      }
      const [text, pageMs] = await timed(page)
      t.ok(pageMs < ANSWER_MS, `the metrics took ${pageMs} ms`)
      t.match(text, `slotline_process_up{process="supervisor",child="${NAMES[role]}"} 0\n`)
      t.ok(slotOf(text) > 0, 'the last values are shown')
      const [status, statusMs] = await timed(() => runToEnd(t, ['status', ...config]))
      t.ok([0, 1].includes(status.code ?? 2), status.output)
      t.ok(statusMs < ANSWER_MS, `status took ${statusMs} ms`)
      await until(
        'it is restarted',
        () => service.pidsOf(role).length > 0 && !service.pidsOf(role).includes(stopped),
        RECOVERY_MS,
      )
      await until('it answers', async () => {
        const text = await page().catch(() => '')
        return stuckOf(text, role) === 1 && text.includes(`child="${NAMES[role]}"} 1\n`)
      })
      const line = service
        .output()
        .split('\n')
        .find(line => line.includes('a child does not answer') && line.includes(NAMES[role]))
      t.match(line, `"childPid":${stopped}`)
    })

  t.equal(await service.stop(), 0)
  t.match(service.output(), /"signal":"SIGTERM".*"msg":"draining: requests in flight are finished/)
})

/** What an edge keeps for its sender is 64 MiB. */
const FLOOD = 80
const BODY_BYTES = 1024 ** 2

t.test('beside a sender that is stopped, submissions are refused and reads served', async t => {
  const chain = await startSandboxChain({ slotMs: 100 })
  t.teardown(() => chain.close())
  const upstream = await openRawUpstream(t, socket => socket.write(answer('{"result":1,"id":1}')))
  const feed = { endpoint: chain.geyserUrl, startSlot: 1 }
  const lander = { upstream: { urls: [upstream.url] }, tipAddresses: TIPS.slice(0, 1) }
  const prepared = await prepareServe(
    t,
    { one: feed },
    {
      networks: [{ id: 'one', feed, lander }] as object,
      processes: {
        edgeCount: 1,
        submissionBytesMax: 2 * BODY_BYTES,
        // The flood ends before its sender is killed, on a busy machine too.
        ...(isSoak ? {} : { hungMs: 12_000 }),
      },
    },
    { limits: { requestsInFlightMax: 2 * FLOOD } },
  )
  const service = await prepared.start()
  const url = prepared.urlOf('one')
  await until('a slot is served', () => call(url, 'getSlot', []).then(Boolean, () => false))
  const body = single(base64(GOOD))
  const submit = (byteLength = 0) => {
    const headers = { 'content-type': 'application/json' }
    return timed(async () => {
      const padded = body.padEnd(byteLength)
      const reply = await fetch(`${url}/lander`, { method: 'POST', headers, body: padded })
      return { reply, text: await reply.text() }
    })
  }
  const [sender, edge] = (['sender', 'edge'] as const).map(role =>
    requirePid(service.pidsOf(role)[0]),
  )
  if (sender === undefined || edge === undefined) throw new Error('no processes')
  await until('the sender serves', async () => (await submit())[0].reply.status === 200)
  process.kill(sender, 'SIGSTOP')
  const flood = Array.from({ length: FLOOD }, () => submit(BODY_BYTES))
  const [, readMs] = await timed(() => call(url, 'getSlot', []))
  t.ok(readMs < ANSWER_MS, `a read took ${readMs} ms`)
  const replies = await Promise.all(flood)
  const refused = replies.filter(([{ text }]) => text.includes(ERRORS.upstreamFull.message))
  t.ok(refused.length >= FLOOD - 64, `${refused.length} of ${FLOOD} found no room`)
  for (const [{ reply }, ms] of refused) {
    t.strictSame([reply.status, reply.headers.get('retry-after')], [503, '1'])
    t.ok(ms < ANSWER_MS, `refused after ${ms} ms`)
  }
  for (const [{ text }] of replies.filter(one => !refused.includes(one)))
    t.match(text, ERRORS.outcomeUnknown.message, 'its sender was killed')
  await until('another sender serves', async () => (await submit())[0].reply.status === 200)
  t.strictSame(service.pidsOf('edge'), [edge], 'the edge goes on')
  t.equal(await service.stop(), 0)
})

soakTest('commands that need a stopped indexer end', {}, async t => {
  const prepared = await open({ hungMs: COMMANDS_MS })
  const service: Service = await prepared.start()
  const url = prepared.urlOf('one')
  await until('a slot is served', () => call(url, 'getSlot', []).then(Boolean, () => false))
  const indexer = requirePid(service.pidsOf('indexer')[0])
  process.kill(indexer, 'SIGSTOP')
  await loadBeside(t, ['--network', 'one', '--config', prepared.configFile])
  process.kill(indexer, 'SIGCONT')
  t.equal(await service.stop(), 0)
})
