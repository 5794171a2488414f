import t, { type Test } from 'tap'
import { RawReply } from '../../src/rpc/outcome.js'
import { openUpstreamRpc } from '../fixtures/rpc/open-upstream-rpc.js'
import {
  answer,
  openRawUpstream,
  refusedPort,
  type Script,
} from '../fixtures/submission/raw-upstream.js'

const CANARY = 'hml-canary-of-the-rpc'
const CALL = '{"jsonrpc":"2.0","id":18446744073709551616,"method":"getBlock","params":[1]}'
const REPLY = '{"jsonrpc":"2.0","result":18446744073709551615,"id":18446744073709551616}'
const WAIT_MS = 5_000

/** Forwards a call to an upstream. */
const open = async (t: Test, upstream: object) => {
  const lines: string[] = []
  const forward = await openUpstreamRpc(t, upstream, lines)
  const call = async (): Promise<string> => {
    const outcome = await forward?.call('getBlock', Buffer.from(CALL), WAIT_MS)
    if (outcome instanceof RawReply) return Buffer.from(outcome.bytes).toString()
    return outcome instanceof Error ? outcome.message : 'nothing'
  }
  return { call, lines }
}

t.test('a network without an upstream forwards nothing', async t => {
  t.equal(await openUpstreamRpc(t, undefined), undefined)
})

const replies: Script = socket => socket.write(answer(`${REPLY}\n`))
const SILENT = 'upstream RPC did not answer'

t.test('a call is sent to the path of the URL with the credential only', async t => {
  const cases = [
    { base: '', credentialIn: 'header', path: '/' },
    { base: '/v2/main/', credentialIn: 'header', path: '/v2/main' },
    { base: '', credentialIn: 'query', path: `/?api-key=${CANARY}` },
    { base: '/v2', credentialIn: 'query', path: `/v2?api-key=${CANARY}` },
  ]
  for (const { base, credentialIn, path } of cases) {
    const server = await openRawUpstream(t, replies)
    const { call } = await open(t, {
      urls: [server.url + base],
      credential: CANARY,
      credentialIn,
      credentialName: credentialIn === 'query' ? 'api-key' : 'x-api-key',
    })
    t.equal(await call(), REPLY)
    const [request] = server.received
    t.equal(request?.path, path)
    t.equal(request?.body.toString(), CALL)
    t.equal(
      /x-api-key: (.*)/i.exec(request?.head ?? '')?.[1],
      credentialIn === 'header' ? CANARY : undefined,
    )
  }
})

t.test('an upstream that is down, disconnects, hangs, or replies too long', async t => {
  const down = await open(t, { urls: [`http://127.0.0.1:${await refusedPort()}`] })
  t.equal(await down.call(), 'upstream RPC unreachable')

  const hangingUp = await openRawUpstream(t, socket => socket.destroy())
  t.equal(await (await open(t, { urls: [hangingUp.url] })).call(), SILENT)
  t.equal(hangingUp.received.length, 1, 'a call is sent once')

  const hanging = await openRawUpstream(t, () => {})
  t.equal(await (await open(t, { urls: [hanging.url], answerMs: 50 })).call(), SILENT)

  const long = await openRawUpstream(t, socket => socket.write(answer(`{${' '.repeat(99)}}`)))
  t.equal(await (await open(t, { urls: [long.url], replyBytesMax: 100 })).call(), SILENT)
})

t.test('a second URL is used where the first accepts no connection', async t => {
  const server = await openRawUpstream(t, replies)
  const { call } = await open(t, {
    urls: [`http://127.0.0.1:${await refusedPort()}`, server.url],
    credential: CANARY,
  })
  t.equal(await call(), REPLY)
  t.equal(await call(), REPLY)
})

t.test('the credential is in no reply and in no log', async t => {
  const refusal = `{"jsonrpc":"2.0","error":{"code":-32000,"message":"bad key ${CANARY}"},"id":1}`
  const server = await openRawUpstream(t, socket => socket.write(answer(refusal)))
  const { call, lines } = await open(t, { urls: [server.url], credential: CANARY })
  const text = await call()
  t.match(text, '"code":-32000')
  t.notMatch(text + lines.join(''), CANARY)
})
