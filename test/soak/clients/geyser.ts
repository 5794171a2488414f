// Published clients of Yellowstone gRPC, unmodified, with a server that is killed under them.
import { spawnSync } from 'node:child_process'
import t, { type Test } from 'tap'
import {
  buildRustClients,
  installGrpcurl,
  installLaserstream,
  startClient,
} from '../../fixtures/clients/geyser-clients.js'
import { askAdmin, grantScope } from '../../fixtures/dashboard/admin.js'
import { callText } from '../../fixtures/processes/deployment.js'
import { requirePid } from '../../fixtures/processes/require-pid.js'
import { sharedBusySandbox } from '../../fixtures/processes/shared-sandbox.js'
import { until } from '../../fixtures/until.js'

const KILLS = 5
const BLOCKS = 10

const prepare = async () => {
  const deployment = await sharedBusySandbox()
  const { tokenPath } = await grantScope(deployment, 'fra', {})
  const { body } = await askAdmin(deployment, 'POST', tokenPath)
  const { grpcUrl } = deployment.description.locations[0]
  return { deployment, tokenPath, token: String(body['token']), grpcUrl }
}

/** What a client has printed: of each block its slot and its parent. */
const blocksOf = (lines: readonly string[]) =>
  lines.flatMap(line => {
    const [word, slot, parent] = line.split(' ')
    return word === 'block' ? [{ slot: Number(slot), parent: Number(parent) }] : []
  })

/** Clients may repeat a block after they have resumed, but must not miss one. */
const checkWhole = (t: Test, lines: readonly string[]): void => {
  const blocks = [...new Map(blocksOf(lines).map(block => [block.slot, block])).values()]
  blocks.sort((one, other) => one.slot - other.slot)
  const missing = blocks.filter(({ parent }, at) => at > 0 && parent !== blocks[at - 1]?.slot)
  t.strictSame(missing, [], `${blocks.length} blocks without a hole`)
  t.ok(blocks.length >= (KILLS + 1) * BLOCKS)
  t.ok(
    lines.some(line => / [1-9]\d* [1-9]\d*$/.test(line)),
    'with transactions and accounts',
  )
}

/** Kills the server under a client, then takes the token away; returns what it has printed. */
const follow = async (t: Test, command: string, args: (url: string, token: string) => string[]) => {
  const { deployment, tokenPath, token, grpcUrl } = await prepare()
  const lines = startClient(t, command, args(grpcUrl, token))
  const haveMore = async (what: string): Promise<void> => {
    const before = blocksOf(lines).length
    await until(what, () => blocksOf(lines).length >= before + BLOCKS, 60_000)
  }
  await haveMore('it gets blocks')
  for (let kills = 0; kills < KILLS; kills++) {
    await until('the server runs', () => deployment.pidsOf('geyser').length === 1)
    process.kill(requirePid(deployment.pidsOf('geyser')[0]), 'SIGKILL')
    await haveMore('it goes on')
  }
  await askAdmin(deployment, 'DELETE', tokenPath)
  return lines
}

for (const version of ['13', '17'])
  t.test(`the Rust client ${version} resumes, and ends when its token is revoked`, async t => {
    const program = buildRustClients(t)
    const lines = await follow(t, program, (url, token) => [version, url, token])
    await until('it ends', () => lines.some(line => line.startsWith('end')))
    t.match(lines.at(-1), /Unauthenticated|valid auth token/)
    checkWhole(t, lines)
    t.match(lines[0], /^version .*slotline/)
  })

// After a refusal it tries again for 20 minutes, and reports nothing meanwhile.
t.test("LaserStream's client resumes, and gets nothing once its token is revoked", async t => {
  const program = installLaserstream(t)
  const lines = await follow(t, process.execPath, (url, token) => [program, url, token])
  const { deployment } = await prepare()
  const newest = async () => {
    const { result } = JSON.parse(await callText(deployment.url, 'getSlot', [])) as {
      result: number
    }
    return result
  }
  const revokedAt = await newest()
  await until('the chain goes on', async () => (await newest()) > revokedAt + BLOCKS)
  t.ok((blocksOf(lines).at(-1)?.slot ?? 0) <= revokedAt)
  checkWhole(t, lines)
})

t.test('grpcurl calls and subscribes without proto files', async t => {
  const program = installGrpcurl(t)
  const { token, grpcUrl } = await prepare()
  const ask = (before: readonly string[], after: readonly string[]) => {
    const args = ['-plaintext', '-H', `x-token: ${token}`, ...before, new URL(grpcUrl).host]
    const { stdout, stderr } = spawnSync(program, [...args, ...after], { encoding: 'utf8' })
    return `${stdout}${stderr}`
  }
  t.match(ask([], ['list']), /^geyser\.Geyser$/m)
  t.match(ask([], ['describe', 'geyser.SubscribeRequest']), /block_footer/)
  t.match(ask([], ['geyser.Geyser/GetVersion']), /slotline/)
  const request = ['-max-time', '3', '-d', '{"slots": {"mine": {}}}']
  t.match(ask(request, ['geyser.Geyser/Subscribe']), /"filters": \[\s+"mine"\s+\]/)
})
