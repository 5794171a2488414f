import t from 'tap'
import { transferLamports } from '../../src/sandbox/solana/system-instructions.js'
import { defaults } from '../../src/rpc/options.js'
import { openUpstreamRpc } from '../fixtures/rpc/open-upstream-rpc.js'
import { openStore } from '../fixtures/rpc/store.js'
import { openWire } from '../fixtures/rpc/wire.js'
import { openChainRpc, SOL } from '../fixtures/sandbox/chain-rpc.js'
import { compileV1 } from '../fixtures/sandbox/compile-v1.js'
import { key } from '../fixtures/sandbox/sandbox.js'
import { openSocket } from '../fixtures/server/socket.js'
import { answer, openRawUpstream } from '../fixtures/submission/raw-upstream.js'

const U64_MAX = '18446744073709551615'
const SIGNATURE = '5'.repeat(88)

/** What was called, and what an upstream of Agave 4.4 answers: a result, or an error. */
type Row = readonly [name: string, method: string, params: string, answered: string]

const result = (json: string): string => `"result":${json}`
const failure = (code: number, message: string, data?: string): string =>
  `"error":{"code":${code},"message":"${message}"${data === undefined ? '' : `,"data":${data}`}}`

const MARKER = `[${U64_MAX},${U64_MAX},${U64_MAX}]`
const NOT_REACHED = 'Minimum context slot has not been reached'
const bytes = (count: number): string => Array.from({ length: count }, (_, i) => i % 256).join(',')

// prettier-ignore
const ROWS: readonly Row[] = [
  ['epoch credits in lamports, with the marker of the migration to Alpenglow', 'getVoteAccounts', '[]',
    result(`{"current":[{"votePubkey":"V","lastVote":459652998,"commission":6,"inflationRewardsCommissionBps":501,"epochCredits":[[1063,9007199254740993,9007199254740992],${MARKER},[1064,18446744073709551614,0]]}],"delinquent":[]}`)],
  ['the migration to Alpenglow', 'getAgGenesisCert', '[]',
    result(`{"block":{"slot":459652999,"blockId":[${bytes(32)}]},"signature":{"signature":[${bytes(192)}],"bitmap":[1,2,3]}}`)],
  ['no migration yet', 'getAgGenesisCert', '[]', result('null')],
  ['a node that is too old to say', 'getAgGenesisCert', '[]', failure(-32601, 'Method not found')],
  ['a node behind the minimum slot', 'getTransaction', `["${SIGNATURE}",{"minContextSlot":${U64_MAX},"maxSupportedTransactionVersion":1}]`,
    failure(-32016, NOT_REACHED, '{"contextSlot":475000000}')],
  ['statuses at a commitment and a slot', 'getSignatureStatuses', `[["${SIGNATURE}"],{"commitment":"confirmed","minContextSlot":9007199254740993}]`,
    failure(-32016, NOT_REACHED, `{"contextSlot":9007199254740992}`)],
  ['statuses that are final or not', 'getSignatureStatuses', `[["${SIGNATURE}"]]`,
    result('{"context":{"slot":1,"apiVersion":"4.4.0"},"value":[{"slot":1,"confirmations":null,"err":null,"status":{"Ok":null},"confirmationStatus":"finalized"},{"slot":1,"confirmations":0,"err":null,"status":{"Ok":null},"confirmationStatus":"processed"}]}')],
  ['a signature to begin at that is unknown', 'getSignaturesForAddress', `["V",{"before":"${SIGNATURE}"}]`,
    failure(-32020, `Transaction ${SIGNATURE} not found`)],
  ['a slot without history', 'getBlockTime', '[1]', failure(-32021, 'No slot history')],
  ['a node that leads nothing', 'getLeaderSchedule', '[null,{"identity":"N"}]',
    failure(-32022, 'Node N was not in the leader schedule for specified epoch')],
  ['a version that the client does not take', 'getBlock', '[1]',
    failure(-32015, 'Transaction version (1) is not supported by the requesting client. Please try the request again with the following configuration parameter: \\"maxSupportedTransactionVersion\\": 1')],
  ['members of every kind as they were written', 'getTransaction', `["${SIGNATURE}",{"minContextSlot":1e400,"minContextSlot":-0,"a":{"minContextSlot":[null,"1",1.50]}}]`,
    failure(-32602, 'Invalid params: invalid type: floating point')],
]

const wire = await openWire(t)
const { reader } = openStore(t)
const answers = new Map<string, string>()
const upstream = await openRawUpstream(t, (socket, { body }) => {
  const [, id = ''] = /"id":(\w+)/.exec(body.toString()) ?? []
  socket.write(answer(answers.get(id) ?? '{}'))
})
wire.serve(reader, {}, await openUpstreamRpc(t, { urls: [upstream.url] }))

t.test('calls and answers of Agave 4.4 pass byte for byte', async t => {
  const client = await openSocket(wire.port, { path: `/${wire.token}` })
  t.teardown(() => client.destroy())
  for (const [index, [name, method, params, answered]] of ROWS.entries())
    await t.test(name, async t => {
      const id = index + 1
      const call = `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`
      const reply = `{"jsonrpc":"2.0",${answered},"id":${id}}`
      answers.set(String(id), reply)
      upstream.received.length = 0
      t.equal(await wire.askText(call), reply)
      t.equal(await wire.askText(`[${call}, ${call}]`), `[${reply},${reply}]`, 'in a batch')
      client.send(call)
      t.equal(await client.next(), reply, 'over a WebSocket')
      client.send(`[${call}]`)
      t.equal(await client.next(), `[${reply}]`, 'in a batch over a WebSocket')
      t.strictSame(
        upstream.received.map(({ body }) => body.toString()),
        Array.from({ length: 5 }, () => call),
      )
    })
})

t.test('the longest transaction of version 1 is sent, found and shown', async t => {
  const { chain, payer, rpc } = await openChainRpc(t)
  const forward = await openUpstreamRpc(t, { urls: [rpc.url], pingPath: '/ping' })
  wire.serve(reader, {}, forward)
  const client = await openSocket(wire.port, { path: `/${wire.token}` })
  t.teardown(() => client.destroy())
  const move = transferLamports(payer.publicKey, key('to').publicKey, SOL)
  const compile = (padding: number): Promise<Buffer> => {
    const data = Buffer.concat([move.data, Buffer.alloc(padding)])
    return compileV1(payer, chain.tip.blockhash, [{ ...move, data }])
  }
  const bytes = await compile(4_096 - (await compile(0)).length)
  t.equal(bytes.length, 4_096)
  const call = (method: string, ...params: unknown[]): string =>
    JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const sending = call('sendTransaction', bytes.toString('base64'), { encoding: 'base64' })
  const sent = await wire.askText(sending)
  const { result: signature } = JSON.parse(sent) as { result: string }
  t.match(signature, /^\w{80,88}$/)
  chain.tick()
  const finding = call('getTransaction', signature, {
    encoding: 'base64',
    maxSupportedTransactionVersion: 1,
  })
  const found = await wire.askText(finding)
  t.match(JSON.parse(found), {
    result: { version: 1, transaction: [bytes.toString('base64'), 'base64'] },
  })
  t.equal(await wire.askText(`[${finding}]`), `[${found}]`, 'in a batch')
  client.send(finding)
  t.equal(await client.next(), found, 'over a WebSocket')
  t.match(await wire.askText(call('getTransaction', signature)), /"code":-32015/)
  // Another version ends at a packet.
  const legacy = Buffer.alloc(1_300, 1).toString('base64')
  t.match(await wire.askText(call('sendTransaction', legacy, { encoding: 'base64' })), /-32602/)
})

t.test('a call with more than a validator takes is not sent', async t => {
  upstream.received.length = 0
  const long = `"${'x'.repeat(8 * 1024 ** 2 - 200)}"`
  const call = `{"jsonrpc":"2.0","id":1,"method":"getTransaction","params":[${long}]}`
  const message = `Message holds more than ${defaults.loopBytesMax} bytes beside its addresses`
  const reply = `{"jsonrpc":"2.0","error":{"code":-32600,"message":"${message}"},"id":null}`
  for (let i = 0; i < 3; i++) t.equal(await wire.askText(call), reply)
  const members = Array.from({ length: 2_000 }, (_, i) => `"minContextSlot":${i}`).join(',')
  const wide = `{"jsonrpc":"2.0","id":1,"method":"getTransaction","params":["${SIGNATURE}",{${members},"x":"${'x'.repeat(20_000)}"}]}`
  t.match(await wire.askText(wide), /"code":-32600,"message":"Forwarded call holds more than/)
  t.equal(upstream.received.length, 0)
})
