import { execFile } from 'node:child_process'
import { createServer, request } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { blocksOf, readPage } from '../fixtures/docs/markdown.js'
import { ownDir } from '../fixtures/own-dir.js'
import { openCommands, type Ended } from '../fixtures/processes/commands.js'
import { startDeployment } from '../fixtures/processes/deployment.js'
import { openSocket, type SocketClient, type SocketClose } from '../fixtures/server/socket.js'
import { freePorts } from '../fixtures/free-ports.js'
import { listen } from '../fixtures/listen.js'

/** Status of a read through an RPC URL; the client may use any loopback address. */
const statusOf = (
  url: string,
  { localAddress = '127.0.0.1', headers = {} }: { localAddress?: string; headers?: object } = {},
): Promise<number> =>
  new Promise((resolve, reject) => {
    const sent = request(
      url,
      {
        method: 'POST',
        localAddress,
        agent: false,
        headers: { 'content-type': 'application/json', ...headers },
      },
      response => {
        response.resume()
        response.on('end', () => resolve(response.statusCode ?? 0))
      },
    )
    sent.on('error', reject)
    sent.end('{"jsonrpc":"2.0","id":1,"method":"getLatestBlockhash"}')
  })

/** How a socket was closed within a moment; undefined where it stays open. */
const nextClose = (closed: Promise<SocketClose>): Promise<SocketClose | undefined> =>
  Promise.race([closed, setTimeout(500, undefined, { ref: false })])

/** A shell function that runs commands in the process that has the command line loaded. */
const openShellFunction = async (
  t: Test,
  run: (...args: readonly string[]) => Promise<Ended>,
): Promise<string> => {
  const server = createServer(async (incoming, outgoing) => {
    const { code, output } = await run(...(await text(incoming)).split('\0').slice(0, -1))
    outgoing.writeHead(code === 0 ? 200 : 500).end(output)
  })
  const url = `http://127.0.0.1:${await listen(t, server)}`
  return `printf '%s\\0' "$@" | curl -s --fail-with-body --data-binary @- ${url}`
}

/** Runs the commands of docs/access.md in a folder whose data directory is `.slotline`. */
const checkDocumentation = async (
  t: Test,
  dir: string,
  port: number,
  run: (...args: readonly string[]) => Promise<Ended>,
): Promise<void> => {
  const blocks = blocksOf(readPage('docs/access.md')).filter(({ language }) => language === 'sh')
  t.equal(blocks.length, 7)
  const command = await openShellFunction(t, run)
  const script = blocks
    .map(({ text }) => text.replaceAll('127.0.0.1:8903', `127.0.0.1:${port + 4}`))
    .join('\n')
    .replace('node dist/main.js "$@"', () => command)
    .replaceAll('--data-dir .slotline', `--data-dir ${join(dir, '.slotline')}`)
  const { stdout } = await promisify(execFile)('sh', ['-c', `set -e\n${script}`], {
    cwd: dir,
    timeout: 90_000,
  })
  t.match(stdout, /"address": "8\.8\.8\.8"[^]*"address": null/)
  t.match(stdout, /"state": "ended"[^]*"state": "active"/)
  t.match(stdout, /"accesses":\[.*"subject":"ada"/, 'by curl')
}

t.test('changes by an operator apply at each edge at once', async t => {
  const dir = ownDir(t)
  const dataDir = join(dir, '.slotline')
  const args = ['--edges', '2', '--traffic', '0']
  const { description, port } = await startDeployment(t, { dataDir, args })
  const target = ['--url', description.dashboardUrl, '--token-file', join(dataDir, 'admin.token')]
  const run = openCommands(t)
  const slotline = (...args: readonly string[]) => run('access', ...args, ...target)
  const ask = async (...args: readonly string[]) => {
    const { code, output } = await slotline(...args)
    if (code !== 0) throw new Error(output)
    return output === '' ? undefined : JSON.parse(output)
  }
  /** Eight connections: with two edges, all of them reach the same edge in 1 of 128 runs. */
  const statuses = async (url: string, options?: Parameters<typeof statusOf>[1]) => {
    const all = await Promise.all(Array.from({ length: 8 }, () => statusOf(url, options)))
    return [...new Set(all)]
  }

  const granted = await ask(
    ...['grant', '--subject', 'ada', '--product', 'node-access', '--limits', 'socketsMax=3'],
  )
  t.match(granted, {
    subject: 'ada',
    kind: 'pass',
    state: 'active',
    networks: ['sandbox'],
    locations: ['fra', 'nyc'],
    validUntilMs: null,
    label: '',
    limits: { socketsMax: 3 },
    tokens: [],
  })
  const { accessId } = granted
  const scope = [accessId, 'sandbox', 'fra']
  const fra = await ask('token', 'generate', ...scope)
  t.equal(fra.rpcUrl, description.locations[0].rpcUrl.replace(/slt_.*/, fra.token))
  t.equal(fra.wsUrl, fra.rpcUrl.replace('http:', 'ws:'))
  t.strictSame(await statuses(fra.rpcUrl), [200])
  const other = description.locations[1].rpcUrl.replace(/slt_.*/, fra.token)
  t.strictSame(await statuses(other), [401], 'a token of one location is refused at another')
  let nyc = await ask('token', 'generate', accessId, 'sandbox', 'nyc')
  t.strictSame(await statuses(nyc.rpcUrl), [200])

  await t.test('a restriction', async t => {
    const restricted = await ask('token', 'restrict', ...scope, '8.8.8.8')
    t.match(restricted, { address: '8.8.8.8', tokenId: fra.tokenId })
    const forwarded = { headers: { 'x-forwarded-for': '8.8.8.8' } }
    const proxied = { localAddress: '127.0.0.9', ...forwarded }
    const cases: [name: string, options: Parameters<typeof statusOf>[1], status: number][] = [
      ['from another address', {}, 403],
      ['from another address with this one in X-Forwarded-For', forwarded, 403],
      ['from this address through the trusted proxy', proxied, 200],
      [
        'from another address that put this one first',
        { localAddress: '127.0.0.9', headers: { 'x-forwarded-for': '8.8.8.8, 9.9.9.9' } },
        403,
      ],
      ['from the proxy itself', { localAddress: '127.0.0.9' }, 403],
    ]
    for (const [name, options, status] of cases)
      t.strictSame(await statuses(fra.rpcUrl, options), [status], name)
    t.strictSame(await statuses(nyc.rpcUrl), [200], 'the other token is unchanged')

    const again = await ask('token', 'regenerate', ...scope)
    t.equal(again.address, '8.8.8.8', 'unchanged by regenerate')
    t.strictSame(await statuses(fra.rpcUrl, proxied), [401])
    t.strictSame(await statuses(again.rpcUrl, proxied), [200])
    t.strictSame(await statuses(again.rpcUrl), [403])
    t.match(await ask('token', 'restrict', ...scope), { address: null })
    t.strictSame(await statuses(again.rpcUrl), [200])
    t.equal((await ask('token', 'reveal', ...scope)).token, again.token)

    await ask('token', 'restrict', ...scope, '8.8.8.8')
    await ask('token', 'revoke', ...scope)
    t.strictSame(await statuses(again.rpcUrl, proxied), [401])
    t.match(await ask('token', 'generate', ...scope), { address: null }, 'deleted by revoke')
  })

  await t.test('amend', async t => {
    const { token: text } = await ask('token', 'reveal', accessId, 'sandbox', 'fra')
    const fraUrl = fra.rpcUrl.replace(/slt_.*/, text)
    const open = async (url: string): Promise<SocketClient> => {
      const { port, pathname } = new URL(url)
      const client = await openSocket(Number(port), { path: pathname })
      t.teardown(() => client.destroy())
      return client
    }
    const sockets = [await open(fraUrl), await open(fraUrl), await open(nyc.rpcUrl)]
    t.match(await ask('amend', accessId, '--limits', 'socketsMax=1', '--label', 'ACME'), {
      label: 'ACME',
      limits: { ...granted.limits, socketsMax: 1 },
      tokens: [{}, {}],
    })
    const over = { code: 1013, reason: 'over a limit' }
    const closes = await Promise.all(sockets.map(({ closed }) => nextClose(closed)))
    t.ok(closes.filter(close => close?.code === 1013).length >= 2, 'sockets over the limit')
    for (const close of closes) if (close !== undefined) t.strictSame(close, over)
    await t.rejects(Promise.all([open(fraUrl), open(nyc.rpcUrl)]), {
      message: 'HTTP/1.1 429 Too Many Requests',
    })
    for (const { rpcUrl } of [{ rpcUrl: fraUrl }, nyc])
      t.strictSame(await statuses(rpcUrl), [200], 'tokens are unchanged')

    const amended = await ask(
      ...['amend', accessId, '--location', 'fra', '--limits', 'socketsMax=32'],
    )
    t.match(amended, { locations: ['fra'], tokens: [{ location: 'fra' }] })
    t.strictSame(await statuses(nyc.rpcUrl), [401], 'its token is dead')
    t.strictSame(await statuses(fraUrl), [200])
    t.match(await slotline('token', 'generate', accessId, 'sandbox', 'nyc'), {
      code: 1,
      output: 'slotline: The access does not offer this location\n',
    })
    await ask('amend', accessId, '--location', 'fra', '--location', 'nyc', '--until', 'never')
    t.strictSame(await statuses(nyc.rpcUrl), [401], 'a former token stays dead')
    nyc = await ask('token', 'generate', accessId, 'sandbox', 'nyc')
    t.strictSame(await statuses(nyc.rpcUrl), [200])
    t.strictSame(await statuses(fraUrl), [200])
  })

  await t.test('the audit log names who, what and from where, and no secret', async t => {
    const { code, output } = await run('audit', '--access', accessId, ...target)
    t.equal(code, 0)
    const { entries, next } = JSON.parse(output)
    t.equal(next, null)
    t.strictSame(entries.map(({ action }: { action: string }) => action).toReversed(), [
      ...['grant', 'generate', 'generate', 'restrict', 'regenerate', 'restrict', 'reveal'],
      ...['restrict', 'revoke', 'generate', 'reveal', 'amend', 'amend', 'amend', 'generate'],
    ])
    t.match(entries.at(-1), { by: null, from: '127.0.0.1', request: { subject: 'ada' } })
    const restrict = entries.find(({ action }: { action: string }) => action === 'restrict')
    t.match(restrict, { network: 'sandbox', location: 'fra', request: { address: '8.8.8.8' } })
    t.strictSame(entries[3].request, { limits: { socketsMax: 1 }, label: 'ACME' })
    t.notMatch(output, /slt_|sla_/)
    const before = ['--before', String(entries[0].atMs)]
    const older = await run('audit', ...before, '--limit', '1', ...target)
    t.equal(JSON.parse(older.output).entries[0].atMs, entries[1].atMs)
  })

  await t.test('end', async t => {
    t.match(await ask('end', accessId), { state: 'ended' })
    t.strictSame(await statuses(nyc.rpcUrl), [403])
    t.match(await slotline('token', 'regenerate', ...scope), {
      code: 1,
      output: 'slotline: The access has ended\n',
    })
    t.match(await ask('extend', accessId, '--until', 'never'), { state: 'active' })
    t.strictSame(await statuses(nyc.rpcUrl), [200], 'its tokens are valid again')
    // An end in the past is refused: where the command takes longer, the next end lies later.
    const extend = async (leadMs: number): Promise<number> => {
      const endMs = Date.now() + leadMs
      const until = new Date(endMs).toISOString()
      const { code, output } = await slotline('extend', accessId, '--until', until)
      if (code !== 0 && leadMs < 60_000) return extend(2 * leadMs)
      t.match(JSON.parse(output), { validUntilMs: endMs })
      return endMs
    }
    const untilMs = await extend(2_000)
    await setTimeout(Math.max(0, untilMs - Date.now()))
    t.strictSame(await statuses(nyc.rpcUrl), [403], 'after its end')
    t.match(await ask('show', accessId), { state: 'ended', tokens: [{}, {}] })
  })

  await t.test('an error is one line', async t => {
    const cases: [args: readonly string[], line: string][] = [
      [['show', 'acc_none'], 'No such access'],
      [['show', '../x'], 'Not found'],
      [['grant', '--subject', 'a', '--product', 'gold'], 'There is no product gold'],
      [['amend', 'acc_none', '--label', 'x'], 'No such access'],
      [['amend', accessId, '--network', 'main'], 'The product does not offer the network main'],
      [['amend', accessId, '--location', 'sin'], 'The product does not offer the location sin'],
      [
        ['amend', accessId, '--until', '2020-01-01'],
        'The end must lie after the begin and in the future',
      ],
      [
        ['amend', accessId, '--label', 'x'.repeat(65)],
        'body.label must be one line of at most 64 characters',
      ],
      [['token', 'generate', ...scope], 'The access has ended'],
      [
        ['token', 'restrict', ...scope, '10.0.0.1'],
        'Not one public IPv4 address: this address is reserved for a private network',
      ],
      [['token', 'revoke', accessId, 'sandbox', 'sin'], 'The access does not offer this location'],
    ]
    for (const [args, line] of cases) {
      const { code, output } = await slotline(...args)
      t.strictSame([code, output], [1, `slotline: ${line}\n`], args.join(' '))
    }
    const { code, output } = await run('access', 'list')
    t.strictSame(
      [code, output],
      [2, 'slotline: give --config <file>, --data-dir <dir>, or both --url and --token-file\n'],
    )
    t.equal((await run('access', 'grant', ...target)).code, 2)
    t.match(await slotline('amend', accessId), {
      code: 2,
      output: 'slotline: give --network, --location, --limits, --label or --until\n',
    })
    t.match(await slotline('amend', accessId, '--limits', 'socketsMax=x'), {
      code: 2,
      output: /socketsMax=x' is invalid. It must be an integer from 0 to 4294967295/,
    })
    const unreachable = ['--url', `http://127.0.0.1:${await freePorts()}`, ...target.slice(2)]
    t.match(await run('access', 'list', ...unreachable), {
      code: 1,
      output: /^slotline: the admin API at http:\S+ cannot be reached: [^\n]*ECONNREFUSED[^\n]*\n$/,
    })
  })

  await t.test('the admin API requires its token', async t => {
    const url = `${description.dashboardUrl}admin/accesses`
    const cases: [name: string, headers: Record<string, string>, status: number][] = [
      ['its token', { authorization: `Bearer ${description.adminToken}` }, 200],
      ['none', {}, 401],
      ['another', { authorization: `Bearer ${description.adminToken}x` }, 401],
      ['one of a location', { authorization: `Bearer ${nyc.token}` }, 401],
      ['a cookie', { cookie: `slotline=${description.adminToken}` }, 401],
      [
        'its token, from another machine by a proxy',
        { authorization: `Bearer ${description.adminToken}`, 'x-forwarded-for': '9.9.9.9' },
        404,
      ],
    ]
    for (const [name, headers, status] of cases)
      t.equal((await fetch(url, { headers })).status, status, name)
  })

  await t.test('secrets of the service are replaced while it runs', async t => {
    const admin = (...args: readonly string[]) => run('admin', ...args, ...target)
    const made = await admin('token', 'make', 'probe', '--role', 'read', '--until', '2099-12-31')
    t.equal(made.code, 0, made.output)
    const { token } = JSON.parse(made.output)
    const url = `${description.dashboardUrl}admin/accesses`
    const read = async () =>
      (await fetch(url, { headers: { authorization: `Bearer ${token}` } })).status
    t.equal(await read(), 200)
    t.notMatch((await admin('token', 'list')).output, token)
    t.strictSame(await admin('token', 'end', 'probe'), { code: 0, output: '' })
    t.equal(await read(), 401)
    t.match(await admin('token', 'end', 'probe'), { code: 1, output: 'No such admin token' })
    t.equal((await admin('token', 'make', 'x', '--role', 'owner')).code, 2)

    const resealed = await admin('reseal', '--json')
    t.match(JSON.parse(resealed.output), { state: 'done', unreadable: 0, formerKeyIds: [] })
    t.match(await ask('token', 'reveal', accessId, 'sandbox', 'nyc'), { token: nyc.token })
  })

  const { accesses } = await ask('list', '--subject', 'ada')
  t.strictSame(
    accesses.map((access: { accessId: string }) => access.accessId),
    [accessId],
  )

  await t.test('the commands of docs/access.md', t => checkDocumentation(t, dir, port, run))
})
