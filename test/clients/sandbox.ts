import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { address, createDefaultRpcTransport, createSolanaRpc } from '@solana/kit'
import { Connection, PublicKey } from '@solana/web3.js'
import t, { type Test } from 'tap'
import { METHODS } from '../../src/rpc/registry.js'
import { RPC_METHODS } from '../../src/sandbox/rpc/methods.js'
import { startDeployment, type Deployment } from '../fixtures/processes/deployment.js'
import { ownDir } from '../fixtures/own-dir.js'
import { splitReplies } from '../fixtures/server/server.js'
import { SHARED_ABSENT, sharedPath } from '../fixtures/shared.js'
import { readVectors } from '../fixtures/rpc/vectors.js'

/**
 * Addresses in the recorded sessions: USDC's mint, and a placeholder for a token account.
 */
const MINT = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'
const TOKEN_ACCOUNT = '4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T'

/** Dumps of the accounts that the recorded sessions read. */
const writeDumps = (folder: string): void => {
  mkdirSync(folder)
  const cases = [
    ['getTokenSupply', 'mint', MINT],
    ['getTokenAccountBalance', 'token-account', TOKEN_ACCOUNT],
  ] as const
  for (const [method, name, pubkey] of cases) {
    const accounts = readVectors(method).find(vector => vector.name === name)?.accounts ?? []
    for (const [index, dump] of accounts.entries()) {
      const renamed = index === accounts.length - 1 ? { ...dump, pubkey } : dump
      const text = JSON.stringify(renamed).replaceAll(/"(\d+)n"/g, '$1')
      writeFileSync(join(folder, `${renamed.pubkey}.json`), text)
    }
  }
}

const checkWeb3 = async (t: Test, { url, description }: Deployment): Promise<void> => {
  const { samples } = description
  const key = (name: string): PublicKey => new PublicKey(samples[name] ?? '')
  const connection = new Connection(url, 'confirmed')

  const latest = await connection.getLatestBlockhash()
  t.equal(new PublicKey(latest.blockhash).toBytes().length, 32)
  t.ok(latest.lastValidBlockHeight > 150)

  const mint = await connection.getAccountInfo(key('mint'))
  t.equal(mint?.owner.toBase58(), samples['program'])
  t.equal(mint?.data.length, 82)
  t.equal(mint?.executable, false)
  t.equal(await connection.getAccountInfo(PublicKey.unique()), null)
  const sliced = { dataSlice: { offset: 0, length: 32 } }
  const part = await connection.getAccountInfo(key('tokenAccount'), sliced)
  t.ok(part?.data.equals(key('mint').toBuffer()), 'a slice')

  const { context, value: parsed } = await connection.getParsedAccountInfo(key('tokenAccount'))
  t.ok(context.slot > 0)
  t.match(parsed?.data, {
    program: 'spl-token',
    parsed: { type: 'account', info: { mint: samples['mint'], owner: samples['wallet'] } },
  })
  const both = await connection.getMultipleAccountsInfo([key('wallet'), PublicKey.unique()])
  t.equal(both[0]?.owner.toBase58(), '1'.repeat(32))
  t.equal(both[1], null)
  const several = await connection.getMultipleParsedAccounts([key('mint'), key('mint2022')])
  t.match(several.value, [
    { data: { program: 'spl-token', parsed: { type: 'mint', info: { decimals: 6 } } } },
    { data: { program: 'spl-token-2022', parsed: { type: 'mint' } } },
  ])

  const { value: supply } = await connection.getTokenSupply(key('mint'))
  t.equal(supply.decimals, 6)
  const { value: balance } = await connection.getTokenAccountBalance(key('tokenAccount'))
  t.ok(BigInt(balance.amount) > 0n && BigInt(balance.amount) < BigInt(supply.amount))
  const { value: largest } = await connection.getTokenLargestAccounts(key('mint'))
  t.equal(largest.length, 20)
  t.ok(largest.every(({ address: holder }) => holder instanceof PublicKey))

  await t.rejects(connection.getTokenSupply(key('wallet')), /not a Token mint/)
  await t.rejects(connection.getInflationRate(), /Method not found/)
}

const checkKit = async (t: Test, { url, description }: Deployment): Promise<void> => {
  const { samples } = description
  const key = (name: string) => address(samples[name] ?? '')
  const rpc = createSolanaRpc(url)

  const { value: latest } = await rpc.getLatestBlockhash().send()
  t.equal(typeof latest.blockhash, 'string')
  t.ok(latest.lastValidBlockHeight > 150n)
  for (const encoding of ['base64', 'base64+zstd'] as const) {
    // Each overload of its methods accepts one encoding.
    const read =
      encoding === 'base64'
        ? rpc.getAccountInfo(key('mint'), { encoding })
        : rpc.getAccountInfo(key('mint'), { encoding })
    const { value } = await read.send()
    t.equal(value?.data[1], encoding)
    t.equal(value?.space, 82n)
    t.equal(typeof value?.lamports, 'bigint')
  }
  const parsed = { encoding: 'jsonParsed' } as const
  const { value: account } = await rpc.getAccountInfo(key('tokenAccount'), parsed).send()
  t.match(account?.data, { program: 'spl-token', parsed: { type: 'account' } })
  const keys = [key('mint'), key('wallet')]
  const { value: several } = await rpc.getMultipleAccounts(keys).send()
  t.match(several, [{ owner: samples['program'] }, { owner: '1'.repeat(32) }])
  const { value: balance } = await rpc.getTokenAccountBalance(key('tokenAccount')).send()
  t.equal(balance.decimals, 6)
  const { value: supply } = await rpc.getTokenSupply(key('mint')).send()
  t.ok(BigInt(supply.amount) > BigInt(balance.amount))
  const { value: largest } = await rpc.getTokenLargestAccounts(key('mint')).send()
  t.equal(largest.length, 20)
  await t.rejects(rpc.getTokenSupply(key('wallet')).send(), /not a Token mint/)
  await t.rejects(rpc.getInflationRate().send(), /Method not found|-32601/)

  const transport = createDefaultRpcTransport({ url })
  type Rows = { readonly accounts: readonly { readonly pubkey: string }[] }
  type Answer = { readonly result: Rows & { readonly paginationKey: string | null } }
  const ask = async (method: string, params: unknown): Promise<Answer['result']> => {
    const payload = { jsonrpc: '2.0', id: 1, method, params }
    return (await transport<Answer>({ payload })).result
  }
  const byMint = { filters: [{ memcmp: { offset: 0, bytes: samples['mint'] } }] }
  const options = { encoding: 'base64', limit: 20, ...byMint }
  const first = await ask('getProgramAccountsV2', [samples['program'], options])
  const rest = { ...options, paginationKey: first.paginationKey }
  const second = await ask('getProgramAccountsV2', [samples['program'], rest])
  t.strictSame([first.accounts.length, second.accounts.length], [20, 10], '30 holders in two pages')
  const holders = new Set([...first.accounts, ...second.accounts].map(({ pubkey }) => pubkey))
  t.equal(holders.size, 30)
  const owned = { programId: samples['program'] }
  const params = [samples['wallet'], owned, { encoding: 'jsonParsed', limit: 100 }]
  const tokens = await ask('getTokenAccountsByOwnerV2', params)
  t.ok(JSON.stringify(tokens, bigAsText).includes(samples['tokenAccount'] ?? '?'))
}

const bigAsText = (_name: string, value: unknown): unknown =>
  typeof value === 'bigint' ? String(value) : value

type RpcAnswer = {
  readonly jsonrpc: string
  readonly id: unknown
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string }
}

/** Sends exactly these bytes; returns the head and the JSON of the reply. */
const sendBytes = async (port: number, bytes: Buffer): Promise<[head: string, RpcAnswer]> => {
  const socket = connect(port, '127.0.0.1').setTimeout(10_000)
  socket.on('timeout', () => socket.destroy(new Error('no reply')))
  let received = ''
  socket.write(bytes)
  for await (const chunk of socket) {
    received += Buffer.from(chunk as Uint8Array).toString('latin1')
    const [reply] = splitReplies(received)
    if (reply === undefined) continue
    socket.destroy()
    return [reply.head, JSON.parse(reply.body) as RpcAnswer]
  }
  throw new Error(`no whole reply: ${received}`)
}

type Recorded = {
  readonly transport: string
  readonly http_version: string
  readonly method: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body_base64: string
}

const clients = sharedPath('clients')
const checkRecords = async (t: Test, { url, port }: Deployment): Promise<void> => {
  const { pathname } = new URL(url)
  const answered = new Map<string, number>()
  for (const file of readdirSync(clients ?? '')) {
    const { records } = JSON.parse(readFileSync(join(clients ?? '', file), 'utf8')) as {
      records: Recorded[]
    }
    for (const record of records) {
      if (record.transport !== 'http') continue
      // As recorded, but for the path, which contains the token.
      const lines = record.headers.map(([name, value]) => `${name}: ${value}`)
      const start = `${record.method} ${pathname} HTTP/${record.http_version}`
      const body = Buffer.from(record.body_base64, 'base64')
      const head = Buffer.from([start, ...lines, '', ''].join('\r\n'), 'latin1')
      const [replyHead, answer] = await sendBytes(port, Buffer.concat([head, body]))
      const request = JSON.parse(body.toString()) as { id: unknown; method: string }
      const name = `${file}: ${body.toString().slice(0, 100)}`
      t.match(replyHead, /^HTTP\/1\.1 200 OK\r\nContent-Type: application\/json/, name)
      t.strictSame([answer.jsonrpc, answer.id], ['2.0', request.id], name)
      if (METHODS.has(request.method)) t.hasOwnProp(answer, 'result', name)
      else if (Object.hasOwn(RPC_METHODS, request.method)) t.not(answer.error?.code, -32601, name)
      else t.strictSame(answer.error, { code: -32601, message: 'Method not found' }, name)
      answered.set(request.method, (answered.get(request.method) ?? 0) + 1)
    }
  }
  t.comment(Array.from(answered, ([method, count]) => `${method} ${count}`).join(', '))
  t.ok([...answered.keys()].filter(method => METHODS.has(method)).length >= 6)
}

const workload = sharedPath('workloads/gpa_benchmark_requests.json')
const checkWorkload = async (t: Test, { url }: Deployment): Promise<void> => {
  const requests = JSON.parse(readFileSync(workload ?? '', 'utf8')) as object[]
  for (const request of requests) {
    const body = JSON.stringify({ ...request, method: 'getProgramAccountsV2' })
    const headers = { 'content-type': 'application/json' }
    const answer = (await (await fetch(url, { method: 'POST', headers, body })).json()) as RpcAnswer
    t.match(answer.result, { accounts: Array }, body.slice(0, 200))
  }
  t.ok(requests.length > 5)
}

t.test('unmodified clients work', async t => {
  const dir = ownDir(t)
  const folder = join(dir, 'accounts')
  writeDumps(folder)
  const args = ['--edges', '2', '--slot-ms', '100', '--account-dir', folder]
  const deployment = await startDeployment(t, { args, dataDir: join(dir, 'data') })
  await t.test('@solana/web3.js', t => checkWeb3(t, deployment))
  await t.test('@solana/kit', t => checkKit(t, deployment))
  const isAbsent = clients === undefined || workload === undefined
  await t.test(
    'recorded requests of clients are answered',
    { skip: isAbsent && SHARED_ABSENT },
    t => checkRecords(t, deployment),
  )
  await t.test(
    'filters of a public benchmark are accepted',
    { skip: isAbsent && SHARED_ABSENT },
    t => checkWorkload(t, deployment),
  )
})
