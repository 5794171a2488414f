import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { askAdmin, grantScope } from '../fixtures/dashboard/admin.js'
import { startProgram } from '../fixtures/docs/samples.js'
import type { Deployment } from '../fixtures/processes/deployment.js'
import { killEdge } from '../fixtures/processes/kill-edge.js'
import { sharedBusySandbox } from '../fixtures/processes/shared-sandbox.js'
import {
  openSubscriber,
  toMembers,
  type Members,
  type Notification,
  type Subscriber,
} from '../fixtures/pubsub/subscriber.js'
import { repositoryPath } from '../fixtures/repository.js'
import { pythonWith } from '../fixtures/sandbox/python.js'
import { skipAbsent } from '../fixtures/skip-absent.js'
import { until } from '../fixtures/until.js'

const TOKEN = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
/** Notifications that are awaited before and after each interruption. */
const SOME = 6

/** The kinds of subscriptions that have cursors, and their parameters before the options. */
const KINDS: readonly [method: string, ...params: string[]][] = [
  ['programSubscribe', TOKEN],
  ['accountSubscribe', 'SysvarC1ock11111111111111111111111111111111'],
  ['logsSubscribe', 'all'],
  ['slotSubscribe'],
  ['rootSubscribe'],
]

const toParams = ([, ...params]: (typeof KINDS)[number], options: Members): unknown[] => [
  ...params,
  { ...options },
]

/** The notification without its subscription id. */
const eventOf = ({ text }: Notification): string => text.replace(/"subscription":\d+\}\}$/, '')

/** What the samples print of a change of a program. */
const changeOf = (text: string): string => {
  const [, slot, pubkey] = /"slot":(\d+).*"pubkey":"(\w+)"/.exec(text) ?? []
  return `${slot} ${pubkey}`
}

const cursorOf = ({ text }: Notification): string => /"cursor":"([\w-]+)"/.exec(text)?.[1] ?? ''

/** A client that keeps a subscription of each kind over reconnects. */
const createResumer = () => {
  const events = KINDS.map((): string[] => [])
  const gaps: string[] = []
  const cursors: string[] = []
  const taken = new Map<number, number>()
  let current: Subscriber | undefined
  return {
    events,
    gaps,
    async connect(url: string): Promise<Subscriber> {
      const subscriber = await openSubscriber(url)
      current = subscriber
      taken.clear()
      const early: Notification[] = []
      const take = (notification: Notification): void => {
        const kind = taken.get(notification.subscription)
        if (kind === undefined) return void early.push(notification)
        cursors[kind] = cursorOf(notification)
        if (notification.method === 'gapNotification') gaps.push(notification.text)
        else events[kind]?.push(eventOf(notification))
      }
      subscriber.onNotification(take)
      for (const [kind, params] of KINDS.entries()) {
        const from = cursors[kind]
        const options = from === undefined ? { cursor: true } : { from }
        taken.set(await subscriber.subscribe(params[0], toParams(params, options)), kind)
        for (const notification of early.splice(0)) take(notification)
      }
      return subscriber
    },
    async more(): Promise<void> {
      const before = events.map(all => all.length)
      await until('more of each kind', () =>
        events.every((all, kind) => all.length >= (before[kind] ?? 0) + SOME),
      )
    },
    close: () => current?.close(),
  }
}

/** All events of each kind after the first one that the client has, replayed. */
const replayed = async (
  url: string,
  firsts: readonly string[],
  counts: readonly number[],
): Promise<string[][]> => {
  const subscriber = await openSubscriber(url)
  const ids: number[] = []
  for (const [kind, params] of KINDS.entries()) {
    const from = /"cursor":"([\w-]+)"/.exec(firsts[kind] ?? '')?.[1]
    ids.push(await subscriber.subscribe(params[0], toParams(params, { from })))
  }
  const of = (id: number): string[] =>
    subscriber.notifications.filter(({ subscription }) => subscription === id).map(eventOf)
  await until('all of it', () => ids.every((id, kind) => of(id).length >= (counts[kind] ?? 0)))
  subscriber.close()
  return ids.map(of)
}

/** Runs a sample; its lines, and what else it wrote. */
const startSample = (t: Test, dir: string, [command, file]: [string, string], url: string) => {
  const text = readFileSync(repositoryPath(`docs/samples/resume/${file}`), 'utf8')
  const path = join(dir, file)
  const filled = text.replaceAll('SLOTLINE_WS_URL', url.replace('http', 'ws'))
  writeFileSync(path, filled.replaceAll('SLOTLINE_RPC_URL', url))
  const env = { PATH: `${repositoryPath('node_modules/.bin')}:${process.env['PATH'] ?? ''}` }
  const program = startProgram(t, [command, path], { env, cwd: dir })
  const lines: string[] = []
  // The sample of the shell prints whole notifications.
  program.lines.on('line', line => {
    if (/^\d+ \w+$/.test(line)) lines.push(line)
    else if (line.includes('"method":')) lines.push(changeOf(line))
  })
  return { file, lines, errors: program.errors }
}

const urlOf = ({ port }: Deployment, body: Members): string =>
  `http://127.0.0.1:${port}/${String(body['token'])}`

t.test('a client that resumes has every notification once', async t => {
  t.setTimeout(120_000)
  const deployment = await sharedBusySandbox()
  const { tokenPath } = await grantScope(deployment)
  const url = urlOf(deployment, (await askAdmin(deployment, 'POST', tokenPath)).body)
  const socketUrl = (of: string): string => of.replace('http', 'ws')
  const client = createResumer()
  t.teardown(() => client.close())

  // Its own URL: the client's ends with the token below.
  const dir = join(deployment.dataDir, 'resume')
  mkdirSync(dir)
  symlinkSync(repositoryPath('node_modules'), join(dir, 'node_modules'))
  const other = await grantScope(deployment)
  const otherUrl = urlOf(deployment, (await askAdmin(deployment, 'POST', other.tokenPath)).body)

  const first = await client.connect(socketUrl(url))
  await client.more()
  const python = pythonWith('solana', '0.41.0')
  if ('absent' in python) await t.test('python', async t => skipAbsent(t, python.absent))
  const programs: readonly [string, string][] = [
    [process.execPath, 'kit.mjs'],
    [process.execPath, 'web3.mjs'],
    ['sh', 'curl.sh'],
    ...('python' in python ? [[python.python, 'python.py'] satisfies [string, string]] : []),
  ]
  const samples = programs.map(program => startSample(t, dir, program, otherUrl))
  await until('samples begin', () => samples.every(({ lines }) => lines.length >= SOME))

  await killEdge(deployment)
  await first.ended
  const second = await client.connect(socketUrl(url))
  await client.more()

  const { body } = await askAdmin(deployment, 'POST', `${tokenPath}/regenerate`)
  t.equal((await second.ended).code, 1008)
  const nextUrl = urlOf(deployment, body)
  await client.connect(socketUrl(nextUrl))
  await client.more()
  const before = samples.map(({ lines }) => lines.length)
  await until('samples go on', () =>
    samples.every(({ lines }, nth) => lines.length >= (before[nth] ?? 0) + SOME),
  )

  t.strictSame(client.gaps, [])
  const events = client.events.map(all => all.slice())
  const firsts = events.map(([one]) => one ?? '')
  const whole = await replayed(
    socketUrl(nextUrl),
    firsts,
    events.map(all => all.length - 1),
  )
  for (const [kind, [method]] of KINDS.entries()) {
    const seen = events[kind]?.slice(1) ?? []
    t.strictSame(seen, whole[kind]?.slice(0, seen.length), method)
  }
  // The lines of a sample are a part of all changes of the program, without a hole.
  const changes = (whole[0] ?? []).map(changeOf)
  for (const { file, lines, errors } of samples) {
    t.notMatch(errors(), /may be missing/, file)
    const now = [...lines]
    const begin = changes.indexOf(now[0] ?? '')
    t.ok(begin >= 0, `${file}: the first line is known`)
    const count = Math.min(now.length, changes.length - begin)
    t.strictSame(now.slice(0, count), changes.slice(begin, begin + count), file)
  }

  const subscriber = await openSubscriber(socketUrl(nextUrl))
  t.teardown(() => subscriber.close())
  const params = [TOKEN, { from: 'x' }]
  await t.rejects(subscriber.subscribe('programSubscribe', params), {
    message: '-32602 Invalid param: from must be the `cursor` of a notification of this method',
  })
  // Of another chain: the same slot in another block.
  const bytes = Buffer.from(/"cursor":"([\w-]+)"/.exec(firsts[3] ?? '')?.[1] ?? '', 'base64url')
  bytes.writeUInt8((bytes[9] ?? 0) ^ 1, 9)
  const from = bytes.toString('base64url')
  const id = await subscriber.subscribe('slotSubscribe', [{ from }])
  await until('a gap and slots', () => subscriber.notifications.length >= 2)
  const [gap, next] = subscriber.notifications.filter(({ subscription }) => subscription === id)
  const { from: gapFrom, to, reason } = toMembers(toMembers(gap?.result)['gap'])
  t.strictSame([gap?.method, reason], ['gapNotification', 'fork'])
  t.strictSame(gapFrom, toMembers(JSON.parse(`${firsts[3]}"x":0}}`).params.result)['slot'])
  t.equal(toMembers(next?.result)['parent'], to, 'and goes on after it')
})
