// A machine joins a cluster with the store of another one, under load, and answers as that one.
import { join } from 'node:path'
import { openEtcd, withoutEtcd } from '../../fixtures/cluster/etcd.js'
import {
  operate,
  prepareMachine,
  tokenPath,
  type TestMachine,
} from '../../fixtures/cluster/machine.js'
import { call, runToEnd, startDeployment } from '../../fixtures/processes/deployment.js'
import { until } from '../../fixtures/until.js'
import { soakTest } from '../../fixtures/soak.js'

const GRANT = { subject: 'ada', product: 'node', kind: 'pass' }
const LIMITS = { requestsPerSecondMax: 100_000, requestsBurstMax: 100_000 }
const EQUAL_SLOTS = 20

type Answer = { readonly context: { readonly slot: number }; readonly value: unknown }

/** Answers of a machine by slot. */
class Reader {
  readonly answers = new Map<number, string>()
  private readonly url: string
  private isOver = false
  private readonly running: Promise<void>

  constructor(url: string, account: string) {
    this.url = url
    this.running = this.read(account)
  }

  async stop(): Promise<void> {
    this.isOver = true
    await this.running
  }

  private async read(account: string): Promise<void> {
    while (!this.isOver) {
      const answer = await call(this.url, 'getAccountInfo', [account]).catch(() => undefined)
      if (answer === undefined) continue
      const { context, value } = answer as Answer
      this.answers.set(context.slot, JSON.stringify(value, toText))
    }
  }
}

const toText = (_key: string, value: unknown): unknown =>
  typeof value === 'bigint' ? value.toString() : value

soakTest('a store from a peer', { skip: withoutEtcd, timeout: 180_000 }, async t => {
  const etcd = await openEtcd(t, 1)
  const chain = await startDeployment(t, {
    args: ['--traffic', '50', '--slot-ms', '200'],
    // A folder of its own would replace that of etcd.
    dataDir: join(etcd.dir, 'chain'),
  })
  const { geyserUrl: endpoint, samples } = chain.description
  const prepare = (id: string, feed: object): Promise<TestMachine> =>
    prepareMachine(t, etcd, { id, location: 'fra', network: { feed } })
  const one = await prepare('fra-1', { endpoint, startSlot: 1 })
  const other = await prepare('fra-2', { endpoint })
  for (const command of [
    ['init'],
    ['add', 'fra-1', '--location', 'fra', '--control'],
    ['add', 'fra-2', '--location', 'fra'],
  ])
    t.equal((await operate(t, etcd, one.configFile, ...command)).code, 0)
  await one.start()
  await until('the peer is healthy', async () => (await one.health()) === 'ok')
  await other.start()
  await until('the other one lacks accounts', async () => (await other.health()) === 'incomplete')

  const { body } = await one.admin('POST', '/accesses', { ...GRANT, limits: LIMITS })
  const made = await one.admin('POST', tokenPath(String(body['accessId']), 'fra'))
  const urlOf = ({ host, port }: TestMachine): string =>
    `http://${host}:${port}/${String(made.body['token'])}`
  const bootstrap = (from: string) =>
    runToEnd(t, [
      ...['bootstrap', 'peer', '--network', 'main', '--from', from],
      ...['--config', other.configFile],
    ])
  for (const [from, message] of [
    ['fra-2', /^slotline: fra-2 is this machine: name another one\n$/],
    ['fra-9', /^slotline: cluster s1 has no machine fra-9 that has run\n$/],
  ] as const) {
    const { code, output } = await bootstrap(from)
    t.equal(code, 1)
    t.match(output, message)
  }

  const account = samples['tokenAccount'] ?? ''
  const readers = [new Reader(urlOf(one), account), new Reader(urlOf(other), account)] as const
  const { code, output } = await bootstrap('fra-1')
  t.equal(code, 0, output)
  t.match(output, /network main: the new store is live/)
  await until('it is healthy', async () => (await other.health()) === 'ok')
  const [first, second] = readers
  const both = (): number[] => [...second.answers.keys()].filter(slot => first.answers.has(slot))
  first.answers.clear()
  second.answers.clear()
  await until('both have answered for the same slots', () => both().length >= EQUAL_SLOTS)
  await Promise.all(readers.map(reader => reader.stop()))
  for (const slot of both()) t.equal(second.answers.get(slot), first.answers.get(slot), `${slot}`)
  t.ok(new Set(second.answers.values()).size > 1, 'the account changes')

  const holders = async (machine: TestMachine): Promise<readonly string[]> => {
    const params = [samples['program'], { encoding: 'base64', limit: 1_000 }]
    const { accounts } = (await call(urlOf(machine), 'getProgramAccountsV2', params)) as {
      accounts: readonly { pubkey: string }[]
    }
    return accounts.map(({ pubkey }) => pubkey).toSorted()
  }
  const expected = await holders(one)
  t.ok(expected.length > 0)
  t.strictSame(await holders(other), expected)
})
