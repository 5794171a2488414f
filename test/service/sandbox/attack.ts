import { randomBytes, randomInt } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createToken } from '../../../src/access/tokens/location-token.js'
import { askAdmin, grantScope } from '../../fixtures/dashboard/admin.js'
import type { Deployment } from '../../fixtures/processes/deployment.js'
import { sharedSandbox } from '../../fixtures/processes/shared-sandbox.js'
import {
  connect,
  exchange,
  post,
  proxyHeader,
  replyCount,
  splitReplies,
  statusOf,
} from '../../fixtures/server/server.js'
import { setFault, received } from '../../fixtures/sandbox/upstream.js'
import { until } from '../../fixtures/until.js'
import { DashboardClient } from '../../fixtures/dashboard/dashboard-client.js'

const CALL = '{"jsonrpc":"2.0","id":1,"method":"getLatestBlockhash"}'
const JSON_LINE = 'Content-Type: application/json'
/** The proxy that the sandbox trusts. */
const PROXY = '127.0.0.9'
const OWNER = '9.9.9.9'
const OTHER = '8.8.8.8'

type Made = { readonly token: string; readonly path: string; readonly tokenPath: string }

const make = async (deployment: Deployment, location = 'fra'): Promise<Made> => {
  const { tokenPath } = await grantScope(deployment, location)
  const { body } = await askAdmin(deployment, 'POST', tokenPath)
  const token = String(body['token'])
  return { token, path: `/${token}`, tokenPath }
}

const restrict = async (deployment: Deployment, { tokenPath }: Made): Promise<void> => {
  const answer = await askAdmin(deployment, 'PUT', `${tokenPath}/restriction`, { address: OWNER })
  if (answer.status !== 200) throw new Error(`not restricted: ${answer.status}`)
}

/** Sends several whole requests at once on one connection; their statuses, in order. */
const statusesOf = async (
  port: number,
  bytes: string,
  count: number,
  localAddress?: string,
): Promise<string[]> => {
  const from = localAddress === undefined ? {} : { localAddress }
  const { socket, until: replyUntil } = await connect(port, from)
  socket.write(bytes, 'latin1')
  const text = await replyUntil(now => replyCount(now) >= count)
  socket.destroy()
  return splitReplies(text).map(({ head }) => statusOf(head))
}

const spoofing = async (t: Test, deployment: Deployment): Promise<void> => {
  const { port } = deployment
  const made = await make(deployment)
  const forwarded = (...chains: string[]): string[] => [
    JSON_LINE,
    ...chains.map(chain => `X-Forwarded-For: ${chain}`),
  ]
  const ask = (lines: readonly string[], localAddress?: string, before = '', path = made.path) =>
    exchange(
      port,
      before + post(path, CALL, lines),
      localAddress === undefined ? {} : { localAddress },
    ).then(statusOf)

  t.equal(await ask([JSON_LINE]), '200', 'any address is allowed without a restriction')
  await restrict(deployment, made)
  const forgeries: [name: string, lines: string[], before: string][] = [
    ['nothing', [JSON_LINE], ''],
    ['a PROXY header', [JSON_LINE], proxyHeader(OWNER)],
    ['a PROXY header of version 1', [JSON_LINE], proxyHeader(OWNER, 1)],
    ['two PROXY headers', [JSON_LINE], proxyHeader(OTHER) + proxyHeader(OWNER)],
    ['X-Forwarded-For', forwarded(OWNER), ''],
    ['X-Forwarded-For twice', forwarded(OWNER, OWNER), ''],
    ['X-Forwarded-For behind a proxy', forwarded(`${OWNER}, ${PROXY}`), ''],
    ['a mapped address', forwarded(`::ffff:${OWNER}`), ''],
    ['other headers', [JSON_LINE, `X-Real-IP: ${OWNER}`, `Forwarded: for=${OWNER}`], ''],
    ['the CDN’s header', [JSON_LINE, `CF-Connecting-IP: ${OWNER}`, `True-Client-IP: ${OWNER}`], ''],
    ['both', forwarded(OWNER), proxyHeader(OWNER)],
  ]
  const submission = ['', '/lander', '/relay-bundle', '/lander-submit-bundle']
  for (const [name, lines, before] of forgeries)
    for (const route of submission)
      // A refusal by the HTTP parser is accepted, too.
      t.match(
        await ask(lines, undefined, before, made.path + route),
        /^(403|400|505|)$/,
        `${name}, sent from another address,  at ${route || 'RPC'}`,
      )

  const trusted: [name: string, lines: string[], before: string, status: string][] = [
    ['the owner', forwarded(OWNER), '', '200'],
    ['the owner, mapped', forwarded(`::ffff:${OWNER}`), '', '200'],
    ['another address', forwarded(OTHER), '', '403'],
    ['another address that claims the owner’s', forwarded(`${OWNER}, ${OTHER}`), '', '403'],
    ['the same in two lines', forwarded(OWNER, OTHER), '', '403'],
    ['no address', [JSON_LINE], '', '403'],
    ['nonsense', forwarded(`${OWNER}, nonsense`), '', '403'],
  ]
  for (const [name, lines, before, status] of trusted)
    t.equal(await ask(lines, PROXY, before), status, `${name}, sent by the proxy`)

  const good = post(made.path, CALL, [JSON_LINE])
  for (const version of [1, 2] as const) {
    const [owner, other] = [proxyHeader(OWNER, version), proxyHeader(OTHER, version)]
    for (const bytes of [owner + good, other + good + owner + good, owner + owner + good]) {
      const later = await statusesOf(port, bytes, 2, PROXY)
      t.notOk(later.includes('200'), `PROXY headers sent by the proxy: ${later.join(' ')}`)
    }
  }
  const pipelined = [...forgeries.slice(4, 6), ...forgeries.slice(4, 6)]
  const at = pipelined.map(([, lines]) => post(made.path, CALL, lines)).join('')
  t.strictSame(await statusesOf(port, at, 4), ['403', '403', '403', '403'], 'pipelined')
}

/** The ways in which a client may send its token. */
const waysOf = (token: string): [name: string, path: string, lines: string[]][] => [
  ['path', `/${token}`, []],
  ['x-token', '/', [`x-token: ${token}`]],
  ['bearer', '/', [`Authorization: Bearer ${token}`]],
  ['lander path', `/${token}/lander`, []],
  ['lander x-api-key', '/lander', [`x-api-key: ${token}`]],
  ['relay query', `/relay-bundle?api-key=${token}`, []],
]

const isolation = async (t: Test, deployment: Deployment): Promise<void> => {
  const { port } = deployment
  const [fra, nyc] = [await make(deployment, 'fra'), await make(deployment, 'nyc')]
  for (const [here, elsewhere] of [
    [fra, port + 2],
    [nyc, port],
  ] as const)
    for (const [name, path, lines] of waysOf(here.token)) {
      const request = post(path, CALL, [JSON_LINE, ...lines])
      const own = elsewhere === port ? port + 2 : port
      t.not(statusOf(await exchange(own, request)), '401', `${name}: at its location`)
      t.equal(statusOf(await exchange(elsewhere, request)), '401', `${name}: elsewhere`)
    }
  await askAdmin(deployment, 'POST', `${fra.tokenPath}/regenerate`)
  const request = post(nyc.path, CALL, [JSON_LINE])
  t.equal(
    statusOf(await exchange(port + 2, request)),
    '200',
    'the other location’s token stays valid',
  )
  t.equal(statusOf(await exchange(port, post(fra.path, CALL, [JSON_LINE]))), '401')
}

const guessing = async (t: Test, deployment: Deployment): Promise<void> => {
  const { token } = await make(deployment)
  const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  const mutate = (): string => {
    const at = randomInt(4, token.length)
    return token.slice(0, at) + ALPHABET[randomInt(62)] + token.slice(at + 1)
  }
  const guesses = Array.from({ length: 4_000 }, (_, nth) =>
    nth % 2 === 0 ? createToken(randomBytes) : mutate(),
  ).filter(guess => guess !== token)
  const statuses = new Set<string>()
  const lanes = 8
  const lane = async (first: number): Promise<void> => {
    const mine = guesses.filter((_, nth) => nth % lanes === first)
    for (let at = 0; at < mine.length; at += 50) {
      const some = mine.slice(at, at + 50)
      const bytes = some.map(guess => post(`/${guess}`, CALL, [JSON_LINE])).join('')
      for (const status of await statusesOf(deployment.port, bytes, some.length))
        statuses.add(status)
    }
  }
  await Promise.all(Array.from({ length: lanes }, (_, nth) => lane(nth)))
  t.strictSame([...statuses], ['401'])
  const request = post(`/${token}`, CALL, [JSON_LINE])
  t.equal(statusOf(await exchange(deployment.port, request)), '200', 'the valid token is accepted')
}

/** Every file below a folder, by its path within. */
const filesOf = (dir: string): string[] =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))

const leaks = async (t: Test, deployment: Deployment): Promise<void> => {
  const { port, description, dataDir } = deployment
  const made = await make(deployment)
  const revoked = await make(deployment)
  await askAdmin(deployment, 'DELETE', revoked.tokenPath)
  const unknown = createToken(randomBytes)
  const [, person] = description.identity.users
  const client = new DashboardClient(description.dashboardUrl)
  if (person === undefined) throw new Error('no second person')
  await client.signIn(person)
  const secrets = [
    ...[made.token, revoked.token, unknown].map(token => token.slice(4, 28)),
    description.adminToken.slice(-20),
    person.password,
    ...[...client.cookies.values()].filter(value => value.length > 15),
  ]
  t.ok(secrets.every(secret => secret.length > 8))
  const found = (text: string): string[] => secrets.filter(secret => text.includes(secret))

  const answers: string[] = []
  for (const url of [description.landerUrl, description.bundleEngineUrl])
    await setFault(url, { clear: true })
  const bodies = (token: string): string[] => [
    ...[CALL, '{', '', '[]'],
    `{"jsonrpc":"2.0","id":1,"method":"${token}"}`,
  ]
  for (const token of [made.token, revoked.token, unknown])
    for (const [, path, lines] of waysOf(token)) {
      const all = [JSON_LINE, `Referer: http://a/${token}`, ...lines]
      const requests = bodies(token).map(body => post(path, body, all))
      const exchanges = requests.flatMap(request => [
        exchange(port, request),
        exchange(port + 2, request),
      ])
      answers.push(...(await Promise.all(exchanges)))
    }
  // Requests that cannot be parsed, and one that ends within its body.
  answers.push(await exchange(port, `POST /${made.token} HTTP/1.1\r\nBad\r\n\r\n`))
  answers.push(await exchange(port, `BREW /${made.token} HTTP/1.1\r\nHost: a\r\n\r\n`))
  const broken = await connect(port)
  broken.socket.write(post(made.path, CALL, [JSON_LINE]).slice(0, -5))
  broken.socket.destroy()
  t.strictSame(answers.flatMap(found), [], 'in no answer')

  // The restart of an edge is logged without the tokens of its clients.
  const [edge] = deployment.pidsOf('edge')
  if (edge !== undefined) process.kill(edge, 'SIGKILL')
  await until('the restart is logged', () => deployment.output().includes('process ended'))
  await until('both edges run', () => deployment.pidsOf('edge').length === 2)
  t.strictSame(found(deployment.output()), [], 'not in the log')
  t.strictSame(found(await (await fetch(description.metricsUrl)).text()), [], 'not in the metrics')
  for (const url of [description.landerUrl, description.bundleEngineUrl]) {
    const seen = await received(url)
    t.strictSame(found(JSON.stringify(seen)), [], 'not at an upstream')
  }
  const pages = ['/', '/api/session', '/api/accesses', '/api/openapi.json', '/nowhere']
  for (const page of pages)
    t.strictSame(found((await client.ask(page)).text), [], `not in ${page} of the dashboard`)

  const filesWithSecrets = new Map<string, string[]>()
  for (const file of filesOf(dataDir)) {
    const secretsIn = found(readFileSync(file, 'latin1'))
    if (secretsIn.length > 0) filesWithSecrets.set(file.slice(dataDir.length + 1), secretsIn)
  }
  t.strictSame(
    [...filesWithSecrets.keys()].sort(),
    ['admin.token', 'sandbox.json'],
    'on the disk only in these files',
  )
}

t.test('attacks on the edges of a deployment', async t => {
  const deployment = await sharedSandbox('--edges', '2', '--traffic', '0')
  await t.test('a spoofed address does not pass a restriction', t => spoofing(t, deployment))
  await t.test('a token is valid at its own location only', t => isolation(t, deployment))
  await t.test('guessed tokens are refused', t => guessing(t, deployment))
  await t.test('no secret is in replies or logs', t => leaks(t, deployment))
})
