import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, statSync, writeFileSync, appendFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { t as root, type Test } from 'tap'
import { parseConfig } from '../../../src/config/config.js'
import { toConfigReference } from '../../../src/config/reference.js'
import { startSandboxChain } from '../../../src/sandbox/sandbox-chain.js'
import { openCommands } from '../../fixtures/processes/commands.js'
import { callText, commandLine, runToEnd, startServe } from '../../fixtures/processes/deployment.js'
import { ownDir } from '../../fixtures/own-dir.js'
import { until } from '../../fixtures/until.js'
import { freePorts } from '../../fixtures/free-ports.js'

const TIPS = [
  'tr7c9YdFm5pTx8xVp8XMRPrAFGSND7xmumTqPPJchHe',
  'moon17L6BgxXRX5uHKudAmqVF96xia9h8ygcmG2sL3F',
  '96gYZGLnJYVFmbjzopPSU6QiEV5fGqZNyN9nmNhvrZU5',
]

/** Every flag of the command. */
const ALL = [
  ['--data-dir', 'data', '--network', 'mainnet', '--feed', 'https://feed.example'],
  ['--feed-token', '$FEED_TOKEN', '--program', TIPS[0], '--program', TIPS[1]],
  ['--rpc', 'https://rpc.example', '--rpc-credential', '$RPC_KEY'],
  ['--lander', 'http://fra.lander.example', '--lander-credential', 'key', '--lander-tip', TIPS[1]],
  ['--relay', 'https://engine.example', '--relay-tip', TIPS[2], '--relay-credential', '$KEY'],
  ['--relay-bundle', 'https://other.example', '--relay-bundle-tip', TIPS[2]],
  ['--service-tip', TIPS[0], '--location', 'fra', '--location-name', 'Frankfurt "1"'],
  ['--public-url', 'https://fra.example', '--host', '0.0.0.0', '--port', '8080'],
  ['--cert', 'tls/fullchain.pem', '--key', 'tls/privkey.pem'],
  ['--product', 'node', '--product-name', 'Node', '--issuer', 'https://id.example'],
  ['--client-id', 'slotline', '--client-secret', '$SECRET', '--dashboard-url', 'https://d.example'],
].flat() as string[]

let commands: ReturnType<typeof openCommands> | undefined
const init = (...args: readonly string[]) => (commands ??= openCommands(root))('init', ...args)

const initIn = async (t: Test, args: readonly string[]) => {
  const file = join(ownDir(t), 'slotline.toml')
  const { code, output } = await init(file, ...args)
  return { file, code, output, text: code === 0 ? readFileSync(file, 'utf8') : '' }
}

t.test('the written file is served as it is', async t => {
  const chain = await startSandboxChain({ slotMs: 100, trafficPerSecond: 100 })
  t.teardown(() => chain.close())
  const port = await freePorts()
  const { file, code, output } = await initIn(t, [
    '--feed',
    chain.geyserUrl,
    '--port',
    String(port),
  ])
  t.equal(code, 0)
  t.match(output, / access token generate --config \S+ <accessId> mainnet home\n$/)
  t.match(output, /503 `incomplete`[^]*\n  slotline snapshot load --config \S+ --network mainnet </)
  t.equal(statSync(file).mode & 0o777, 0o600)
  // Sections of docs/configuration.md, at the end.
  appendFileSync(
    file,
    `\n[metrics]\nport = ${port + 1}\n\n[dashboard]\nport = ${port + 2}\n\n[processes]\nedgeCount = 1\n`,
  )
  appendFileSync(file, '[networks.repair]\nsourcesPauseMs = 5000\n')
  const service = await startServe(t, file)
  const dataDir = join(file, '..', '.slotline')
  const slotline = async (...args: readonly string[]) => {
    const { code, output } = await runToEnd(t, [...args, '--data-dir', dataDir])
    t.equal(code, 0, output)
    return JSON.parse(output)
  }
  const subject = ['--subject', 'ada', '--product', 'node-access']
  const { accessId } = await slotline('access', 'grant', ...subject)
  const { rpcUrl } = await slotline('access', 'token', 'generate', accessId, 'mainnet', 'home')
  let answer = ''
  // The feed begins at its head: an account is in the index once a transfer has changed it.
  await until('an account is read', async () => {
    answer = await callText(rpcUrl, 'getAccountInfo', [chain.samples.tokenAccount])
    return answer.includes('"lamports"')
  }).catch((error: unknown) => t.fail(`${String(error)}: ${answer}\n${service.output()}`))
  const health = await fetch(`http://127.0.0.1:${port}/health`)
  t.equal(health.status, 503, 'as the command says')
  t.match(await health.text(), 'incomplete')
  t.equal(await service.stop(), 0)
})

t.test('every flag is in the file', async t => {
  const { code, file, output, text } = await initIn(t, ALL)
  t.equal(code, 0, output)
  t.match(output, / slotline bootstrap rpc --config \S+ --network mainnet\n/, 'it has a scope')
  const [network] = parseConfig(text, file).networks
  t.match(network, {
    id: 'mainnet',
    feed: { endpoint: 'https://feed.example', xToken: '$FEED_TOKEN' },
    scope: { programs: [TIPS[0], TIPS[1]] },
    lander: { upstream: { credential: 'key' }, tipAddresses: [TIPS[1]] },
    relay: { serviceTipAddresses: [TIPS[0]], engineTipAddresses: [TIPS[2]] },
    relayBundle: { upstream: { urls: ['https://other.example'] } },
  })
  const config = parseConfig(text, file)
  t.match(config.locations, [
    { id: 'fra', name: 'Frankfurt "1"', publicUrl: 'https://fra.example' },
  ])
  t.match(config.locations[0]?.listeners, [{ port: 8080, tls: { keyFile: 'tls/privkey.pem' } }])
  t.match(config.products, [{ id: 'node', name: 'Node' }])
  t.match(config.dashboard.identity, { issuer: 'https://id.example', clientSecret: '$SECRET' })
  t.notMatch(text, /^#\w/m, 'nothing is left to uncomment')
  t.ok(text.split('\n').length < 70, 'it fits a screen')
})

t.test('each disabled table is valid when its comment sign is removed', async t => {
  const { file, text } = await initIn(t, ['--feed', 'https://feed.example'])
  t.ok(text.split('\n').length < 60)
  const config = parseConfig(text.replaceAll(/^#(?=[[a-zA-Z])/gm, ''), file)
  t.equal(config.networks[0]?.relayBundle?.engineTipAddresses.length, 1)
  t.equal(config.dashboard.identity?.clientId, 'slotline')
})

t.test('a documented section can be added to the file', async t => {
  const { file, text } = await initIn(t, ['--feed', 'https://feed.example'])
  const own = new Set(text.split('\n'))
  const sections = toConfigReference()
    .filter(({ title }) => title.startsWith('[') && !own.has(title))
    .map(({ rows, title }) => ({ title, row: rows.find(({ fallback }) => fallback !== undefined) }))
  t.ok(sections.length > 20)
  for (const { row, title } of sections) {
    const option = row === undefined ? '' : `${row.name} = ${JSON.stringify(row.fallback)}`
    let message = ''
    try {
      parseConfig(`${text}\n${title}\n${option}\n`, file)
    } catch (error) {
      message = String(error)
    }
    // What the section requires is missing; the section itself is where it belongs.
    t.match(message, /^$|is missing|at least one|needs/, `${title} ${option}: ${message}`)
  }
})

t.test('a file is not overwritten, and a wrong answer writes none', async t => {
  const dir = ownDir(t)
  const file = join(dir, 'here.toml')
  writeFileSync(file, 'mine')
  const feed = ['--feed', 'https://feed.example']
  const cases: [args: string[], message: string, code?: number][] = [
    [[file, ...feed], `${file} exists: it is not overwritten`, 1],
    [[join(dir, 'a')], '--feed <url> is needed: its Yellowstone gRPC server'],
    [[join(dir, 'a'), '--feed', 'x'], '--feed must be an http or https URL, but is "x"'],
    [[join(dir, 'a'), ...feed, '--port', '0'], '--port must be an integer from 1 to 65535'],
    [[join(dir, 'a'), ...feed, '--lander-tip', TIPS[0] ?? ''], '--lander-tip needs --lander'],
    [
      [join(dir, 'a'), ...feed, '--lander', 'https://l.example'],
      '--lander-tip <address> is needed',
    ],
    [[join(dir, 'a'), ...feed, '--port', '9464'], '127.0.0.1:9464 is used by metrics', 1],
  ]
  for (const [args, message, expected = 2] of cases) {
    const { code, output } = await init(...args)
    t.equal(code, expected, args.join(' '))
    t.match(output, message)
    t.notOk(statSync(join(dir, 'a'), { throwIfNoEntry: false }))
  }
  t.equal(readFileSync(file, 'utf8'), 'mine')
})

t.test('a person is asked at a terminal, and asked again after a wrong answer', async t => {
  const file = join(ownDir(t), 'slotline.toml')
  const [command, args] = commandLine('init', file, '--data-dir', 'd', '--network', 'devnet')
  const shell = [command, ...args].map(word => `'${word}'`).join(' ')
  // feed, wrong and right; token, programs, rpc, lander, both engines, location, name, public URL,
  // host, port, certificate, product, its name, issuer.
  const answers = ['feed', 'http://127.0.0.1:9', '', '', '', '', '', '', 'fra', 'Frankfurt']
  answers.push('', '', '8080', '', '', '', '')
  const child = spawn('script', ['-qec', shell, '/dev/null'])
  t.teardown(() => child.kill())
  let stdout = ''
  let answered = 0
  child.stdout.setEncoding('utf8').on('data', text => {
    stdout += String(text)
    // A question ends with the column of the cursor. What is typed before it may be lost.
    const asked = stdout.match(/: \u001B\[\d+G/g)?.length ?? 0
    while (answered < asked && answered < answers.length)
      child.stdin.write(`${answers[answered++]}\n`)
  })
  t.strictSame(await once(child, 'close'), [0, null])
  t.match(stdout, /its Yellowstone gRPC server: /)
  t.match(stdout, 'It must be an http or https URL, but is "feed".')
  const config = parseConfig(readFileSync(file, 'utf8'), file)
  t.match(config.networks, [{ id: 'devnet', feed: { endpoint: 'http://127.0.0.1:9' } }])
  t.match(config.locations, [{ id: 'fra', name: 'Frankfurt', listeners: [{ port: 8080 }] }])
})
