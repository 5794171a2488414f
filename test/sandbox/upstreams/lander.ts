import bs58 from 'bs58'
import t, { type Test } from 'tap'
import { transferLamports } from '../../../src/sandbox/solana/system-instructions.js'
import { type LanderOptions, openDevLander } from '../../../src/sandbox/upstreams/lander.js'
import { compileV1 } from '../../fixtures/sandbox/compile-v1.js'
import { key } from '../../fixtures/sandbox/sandbox.js'
import {
  ask,
  base64,
  callUpstream,
  createPayer,
  received,
} from '../../fixtures/sandbox/upstream.js'

const FLOOR = 1_000_000n
const SOL = 1_000_000_000n
const KEY = { 'x-api-key': 'hml-sandbox' }

const open = async (t: Test, options: Partial<LanderOptions> = {}, now?: () => number) => {
  const payer = createPayer(t)
  const tipAddresses = payer.tips.lander
  const { url, close } = await openDevLander(payer.chain, { tipAddresses, ...options }, now)
  t.teardown(close)
  const call = (path: string, method: string, params: unknown) =>
    callUpstream(`${url}${path}`, method, params, KEY)
  const send = (bytes: Uint8Array, config: unknown = { encoding: 'base64' }) =>
    call('/send', 'sendTransaction', [base64(bytes), config])
  const sendBundle = (members: readonly Uint8Array[]) =>
    call('/sendBundle', 'sendBundle', [members.map(base64), { encoding: 'base64' }])
  const post = (path: string, body: Buffer) =>
    ask(`${url}${path}`, {
      method: 'POST',
      headers: { ...KEY, 'content-type': 'application/octet-stream' },
      body: Uint8Array.from(body),
    })
  return { ...payer, url, call, send, sendBundle, post }
}

const frame = (...records: readonly Uint8Array[]): Buffer =>
  Buffer.concat(
    records.flatMap(record => {
      const length = Buffer.alloc(2)
      length.writeUInt16BE(record.length)
      return [length, record]
    }),
  )

const result = (value: unknown) => `{"jsonrpc":"2.0","result":${JSON.stringify(value)},"id":7}`
const failure = (message: string, code = -32602) =>
  `{"jsonrpc":"2.0","error":{"code":${code},"message":"${message}","data":null},"id":7}`
const forge = (bytes: Buffer): Buffer => {
  const forged = Buffer.from(bytes)
  forged.writeUInt8(forged.readUInt8(10) ^ 1, 10)
  return forged
}

t.test('a transaction lands, and the answer is its signature', async t => {
  const { chain, pay, send, post } = await open(t)
  const one = pay(FLOOR)
  t.match(await send(one.bytes), {
    status: 200,
    type: 'application/json',
    body: result(one.signature),
  })
  t.equal(chain.account(one.to)?.lamports, SOL)
  const other = pay(FLOOR)
  t.match(await post('/send-bin', other.bytes), { status: 200, body: other.signature })
  t.equal(chain.account(other.to)?.lamports, SOL)
  t.match(await send(one.bytes), { status: 200 }, 'sent again it is accepted')
  t.equal(chain.account(one.to)?.lamports, SOL, 'and lands once')
})

t.test('the default encoding is base64', async t => {
  const { pay, call } = await open(t)
  const { bytes, signature } = pay(FLOOR)
  const cases: [params: unknown[], body: string][] = [
    [[base64(bytes)], result(signature)],
    [[base64(bytes), null], result(signature)],
    [[base64(bytes), { skipPreflight: true }], result(signature)],
    [[bs58.encode(bytes), { encoding: 'base58' }], result(signature)],
    [['-_-_'], failure('invalid payload: not base64')],
    [[base64(bytes), { encoding: 'base32' }], failure('invalid payload: not base64')],
    [[`${base64(bytes)} `], failure('invalid payload: not base64')],
    [[7], failure('invalid payload: not base64')],
    [[], failure('invalid payload: not base64')],
  ]
  for (const [params, body] of cases)
    t.match(await call('/send', 'sendTransaction', params), { body }, JSON.stringify(params))
})

t.test('invalid transactions are refused with the texts of the real lander', async t => {
  const blocked = bs58.encode(key('blocked').publicKey)
  const { chain, pay, payer, sign, tip, send, post } = await open(t, {
    blockedPrograms: [blocked],
  })
  const to = key('to').publicKey
  const good = pay(FLOOR)
  const asReadonly = Buffer.from(sign([tip(FLOOR)]))
  // The header's last byte: how many of the unsigned keys are read-only.
  asReadonly.writeUInt8(2, 1 + 64 + 2)
  const call = { programId: bs58.decode(blocked), accounts: [], data: new Uint8Array() }
  const cases: [name: string, bytes: Buffer, message: string | undefined][] = [
    ['a tip at the floor', pay(FLOOR).bytes, undefined],
    ['a tip in two halves', sign([tip(FLOOR / 2n), tip(FLOOR / 2n)]), undefined],
    ['a tip below the floor', pay(FLOOR - 1n).bytes, 'tip required'],
    ['no tip', sign([transferLamports(payer.publicKey, to, SOL)]), 'tip required'],
    ['a tip to another address', pay(FLOOR, bs58.encode(to)).bytes, 'tip required'],
    ['a forged one', forge(good.bytes), 'invalid payload: signature verification failure'],
    ['half of one', good.bytes.subarray(0, 100), 'invalid payload: transaction is truncated'],
    [
      'trailing bytes',
      Buffer.concat([good.bytes, Buffer.of(0)]),
      'invalid payload: bytes follow the transaction',
    ],
    ['a blocked program', sign([tip(FLOOR), call]), 'transaction contains blocked arb program'],
    ['nothing', Buffer.alloc(0), 'invalid payload: transaction is truncated'],
  ]
  for (const [name, bytes, message] of cases) {
    if (message === undefined) {
      t.match(await send(bytes), { status: 200 }, name)
      continue
    }
    if (bytes.length > 0) t.match(await send(bytes), { status: 400, body: failure(message) }, name)
    const binary = await post('/send-bin', bytes)
    t.match(binary, { status: 400, type: 'text/plain; charset=utf-8', body: message }, name)
  }
  t.match(
    await post('/send-bin', asReadonly),
    // This also invalidates the signature, but the tip is checked first.
    { status: 400, body: 'tip required' },
    'a tip account that is read-only',
  )
  t.equal(chain.tick().transactions.length, 2, 'nothing of it is in the block')
})

t.test('an accepted transaction may fail to land', async t => {
  const { chain, payer, pay, sign, tip, send } = await open(t)
  const old = pay(FLOOR)
  for (let count = 0; count < 151; count++) chain.tick()
  t.match(await send(old.bytes), { status: 200, body: result(old.signature) })
  t.equal(chain.account(old.to), undefined, 'its hash is too old')
  const failing = sign([tip(FLOOR), transferLamports(payer.publicKey, key('a').publicKey, 1n)])
  t.match(await send(failing), { status: 200 })
  t.match(chain.tick().transactions, [{ error: { InsufficientFundsForRent: {} } }])
})

t.test('version 1 lands up to 4,096 bytes, but a batch record has at most 1,232', async t => {
  const { chain, payer, tip, send, post } = await open(t)
  const make = async (byteCount: number): Promise<Buffer> => {
    const { data, ...transfer } = tip(FLOOR)
    // Bytes after a transfer are ignored, and make each transaction distinct.
    const padded = { ...transfer, data: Buffer.concat([data, Buffer.alloc(byteCount)]) }
    return compileV1(payer, chain.tip.blockhash, [padded])
  }
  const least = (await make(0)).length
  const landed = async () => chain.tick().transactions.length
  t.match(await send(await make(4_096 - least)), { status: 200 })
  t.equal(await landed(), 1)
  t.match(await post('/send-bin', await make(1)), { status: 200 })
  t.equal(await landed(), 1)
  t.match(await send(Buffer.concat([await make(4_096 - least), Buffer.of(0)])), {
    status: 400,
    body: failure('invalid payload: transaction exceeds 4096 bytes'),
  })
  t.match(await post('/sendBatch', frame(await make(1_232 - least))), { status: 200 })
  t.match(await post('/sendBatch', frame(await make(1_233 - least))), {
    status: 400,
    body: /transaction of 1233 bytes at offset 0/,
  })
  t.equal(await landed(), 1)
})

t.test('a bundle lands whole or not at all', async t => {
  const { chain, payer, sign, tip, pay, sendBundle } = await open(t)
  const [a, b] = [pay(FLOOR), pay(0n)]
  const { status, body } = await sendBundle([a.bytes, b.bytes])
  t.equal(status, 200)
  t.match(body, /^\{"jsonrpc":"2\.0","result":"[0-9a-f]{64}","id":7\}$/)
  t.strictSame(
    [a.to, b.to].map(each => chain.account(each)?.lamports),
    [SOL, SOL],
  )
  const [c, d] = [pay(FLOOR), pay(FLOOR)]
  const failing = sign([
    tip(FLOOR),
    transferLamports(payer.publicKey, key('x').publicKey, SOL ** 2n),
  ])
  t.match(await sendBundle([c.bytes, failing, d.bytes]), { status: 200 }, 'accepted')
  t.strictSame(
    [c.to, d.to].map(each => chain.account(each)),
    [undefined, undefined],
  )
  const cases: [name: string, members: Buffer[], message: string | undefined][] = [
    ['four', [pay(FLOOR), pay(0n), pay(0n), pay(0n)].map(({ bytes }) => bytes), undefined],
    ['one', [pay(FLOOR).bytes], undefined],
    ['five', Array(5).fill(a.bytes), 'invalid payload: a bundle has 1 to 4 transactions'],
    ['none', [], 'invalid payload: a bundle has 1 to 4 transactions'],
    ['no tip', [pay(FLOOR - 1n).bytes, pay(1n).bytes], 'tip required'],
    [
      'a forged one',
      [pay(FLOOR).bytes, forge(a.bytes)],
      'invalid payload: signature verification failure',
    ],
  ]
  for (const [name, members, message] of cases)
    t.match(
      await sendBundle(members),
      message === undefined ? { status: 200 } : { status: 400, body: failure(message) },
      name,
    )
})

t.test('a batch answers counts, and 400 when one transaction is rejected', async t => {
  const { chain, pay, post } = await open(t)
  const good = Array.from({ length: 18 }, () => pay(FLOOR).bytes)
  const poor = pay(FLOOR - 1n).bytes
  const some = (count: number) => good.slice(0, count)
  const size = good[0]?.length ?? 0
  const cut = (body: Buffer, by: number) => body.subarray(0, body.length - by)
  const cases: [
    name: string,
    body: Buffer,
    counts: [number, number, number],
    error: string | null,
  ][] = [
    ['one', frame(...some(1)), [1, 1, 0], null],
    ['sixteen', frame(...some(16)), [16, 16, 0], null],
    ['one without a tip', frame(...some(2), poor), [3, 2, 1], null],
    ['nothing', Buffer.alloc(0), [0, 0, 0], 'empty batch'],
    [
      'seventeen',
      frame(...some(17)),
      [16, 16, 0],
      `more than 16 transactions at offset ${16 * (size + 2)}`,
    ],
    [
      'half a length',
      Buffer.concat([frame(...some(1)), Buffer.of(0)]),
      [1, 1, 0],
      `truncated length prefix at offset ${size + 2}`,
    ],
    [
      'half a record',
      cut(frame(...some(2)), 1),
      [1, 1, 0],
      `truncated transaction at offset ${size + 2}`,
    ],
    ['65 bytes', frame(Buffer.alloc(65)), [0, 0, 0], 'transaction of 65 bytes at offset 0'],
    ['66 bytes', frame(Buffer.alloc(66)), [1, 0, 1], null],
    ['1232 bytes', frame(Buffer.alloc(1232)), [1, 0, 1], null],
    ['1233 bytes', frame(Buffer.alloc(1233)), [0, 0, 0], 'transaction of 1233 bytes at offset 0'],
  ]
  for (const [name, body, [attempted, accepted, rejected], error] of cases)
    t.match(
      await post('/sendBatch', body),
      {
        status: rejected === 0 && error === null ? 200 : 400,
        type: 'application/json',
        body: JSON.stringify({ attempted, accepted, rejected, parse_error: error }),
      },
      name,
    )
  t.equal(chain.tick().transactions.length, 16, 'each lands once')
})

t.test('the key is read from a header or the query', async t => {
  const { url } = await open(t)
  const lenient = await open(t, { isKeyRequired: false })
  const cases: [name: string, path: string, headers: object, status: number, lenient: number][] = [
    ['header', '/ping', KEY, 200, 200],
    ['query', '/ping?api-key=hml-sandbox', {}, 200, 200],
    ['none', '/ping', {}, 401, 200],
    ['wrong header', '/ping', { 'x-api-key': 'hml-x' }, 401, 401],
    ['wrong query', '/ping?api-key=', {}, 401, 401],
    ['unknown path', '/nowhere', KEY, 404, 404],
  ]
  for (const [name, path, headers, status, other] of cases) {
    const init = { headers: { ...headers } }
    t.equal((await ask(`${url}${path}`, init)).status, status, name)
    t.equal((await ask(`${lenient.url}${path}`, init)).status, other, `${name}, not required`)
  }
  t.match(await ask(`${url}/ping`, { headers: KEY }), { body: 'pong' })
  t.match(await ask(`${url}/ping`), { body: 'invalid api key' })
  t.match(await ask(`${url}/send`, { headers: KEY }), { status: 404 }, 'GET')
  t.equal((await received(url)).length, cases.length + 3, 'refused ones are remembered, too')
})

t.test('JSON that is not a call of the route is refused', async t => {
  const { call, post } = await open(t)
  const NOT_FOUND = failure('Method not found', -32601)
  t.match(await call('/send', 'sendBundle', [[]]), { status: 400, body: NOT_FOUND })
  t.match(await call('/sendBundle', 'sendTransaction', ['']), { status: 400, body: NOT_FOUND })
  t.match(await post('/send', Buffer.from('{')), { status: 400, body: /-32700/ })
  t.match(await post('/send', Buffer.from('[{"jsonrpc":"2.0","id":1,"method":"a"}]')), {
    status: 400,
    body: /-32600/,
  })
})

t.test('requests over the rate limit are refused', async t => {
  let nowMs = 0
  const { url } = await open(t, { requestsPerSecondMax: 2 }, () => nowMs)
  const statuses = async (): Promise<number[]> => {
    const all: number[] = []
    for (let count = 0; count < 3; count++)
      all.push((await ask(`${url}/ping`, { headers: KEY })).status)
    return all
  }
  t.strictSame(await statuses(), [200, 200, 429])
  t.match(await ask(`${url}/ping`, { headers: KEY }), { body: 'rate limit exceeded' })
  nowMs = 1_000
  t.strictSame(await statuses(), [200, 200, 429])
})
