import bs58 from 'bs58'
import t from 'tap'
import { TOWER_BFT } from '../../fixtures/sandbox/lanes.js'
import { ADDRESSES } from '../../../src/sandbox/solana/addresses.js'
import { readonly } from '../../../src/sandbox/solana/compile-transaction.js'
import { deriveBundleId } from '../../../src/sandbox/upstreams/derive-bundle-id.js'
import { transferLamports } from '../../../src/sandbox/solana/system-instructions.js'
import { compileV0, NEVER_CLOSED } from '../../fixtures/sandbox/compile-v0.js'
import { compileV1 } from '../../fixtures/sandbox/compile-v1.js'
import {
  BASE64,
  failure,
  IRIS,
  openEngine,
  result,
  SOL,
} from '../../fixtures/sandbox/bundle-engine.js'
import { key } from '../../fixtures/sandbox/sandbox.js'
import { base64 } from '../../fixtures/sandbox/upstream.js'

const FLOOR = 1_000n
const idOf = (...members: readonly { readonly bytes: Buffer }[]) =>
  deriveBundleId(members.map(({ bytes }) => bytes.subarray(1, 65)))
const forge = (bytes: Buffer): Buffer => {
  const forged = Buffer.from(bytes)
  forged.writeUInt8(forged.readUInt8(10) ^ 1, 10)
  return forged
}

t.test('a bundle id is derived from first signatures', t => {
  const cases: [signatures: string[], id: string][] = [
    [
      [
        '3bC2M9fiACSjkTXZDgeNAuQ4ScTsdKGwR42ytFdhUvikqTmBheUxfsR1fDVsM5ADCMMspuwGkdm1uKbU246x5aE3',
        '8t9hKYEYNbLvNqiSzP96S13XF1C2f1ro271Kdf7bkZ6EpjPLuDff1ywRy4gfaGSTubsM2FeYGDoT64ZwPm1cQUt',
      ],
      '892b79ed49138bfb3aa5441f0df6e06ef34f9ee8f3976c15b323605bae0cf51d',
    ],
    [
      [
        '2EKVNQoeihFQfepJukLFtE4BpkNyYsZ1cdocSZzsz6En8nQ3D72M24zLFTJmbpd31hvbF9SpbQG2XPqawGoDxq2s',
        'w4fJGQcZGhHzeYELeiVW2PM5iypNEsWExSuUnmfVA4hHC21CRtBSqovRYj884jRVkPqdBY4Lt1owK8LPnyE4Ahs',
      ],
      'eb06826b16e608a7568f6ab091c26b47d4a43d847dc1e6d34172e0e778e01cc1',
    ],
  ]
  for (const [signatures, id] of cases)
    t.equal(deriveBundleId(signatures.map(signature => bs58.decode(signature))), id)
  t.end()
})

t.test('a bundle is final when its block closes', async t => {
  const { chain, pay, sendBundle, ask1 } = await openEngine(t)
  const [a, b] = [pay(FLOOR), pay(0n)]
  await sendBundle([a.bytes, b.bytes])
  chain.tick()
  t.match(await ask1('getBundleStatuses', [idOf(a, b)]), {
    result: { value: [{ slot: 2, confirmation_status: 'finalized' }] },
  })
})

t.test('the statuses of a bundle of TowerBFT from acceptance to finality', async t => {
  let nowMs = 0
  const parts = { now: () => nowMs, chain: TOWER_BFT }
  const { chain, pay, sendBundle, ask1 } = await openEngine(t, {}, parts)
  const [a, b] = [pay(FLOOR), pay(0n)]
  const id = idOf(a, b)
  const inflight = (status: string, landed_slot: number | null) => ({
    jsonrpc: '2.0',
    result: {
      context: { slot: chain.tip.slot },
      value: [{ bundle_id: id, status, landed_slot }],
    },
    id: 7,
  })
  const statuses = (confirmation_status?: string) => ({
    jsonrpc: '2.0',
    result: {
      context: { slot: chain.tip.slot },
      value:
        confirmation_status === undefined
          ? []
          : [
              {
                bundle_id: id,
                transactions: [a.signature, b.signature],
                slot: 2,
                confirmation_status,
                err: { Ok: null },
              },
            ],
    },
    id: 7,
  })
  const check = async (status: ReturnType<typeof inflight>, found: object) => {
    t.strictSame(await ask1('getInflightBundleStatuses', [id]), status)
    t.strictSame(await ask1('getBundleStatuses', [id]), found)
  }
  await check(inflight('Invalid', null), statuses())
  t.match(await sendBundle([a.bytes, b.bytes]), {
    status: 200,
    type: 'application/json',
    body: result(id),
  })
  t.strictSame(
    [a.to, b.to].map(each => chain.account(each)?.lamports),
    [SOL, SOL],
  )
  await check(inflight('Pending', null), statuses())
  t.equal(chain.tick().slot, 2)
  await check(inflight('Landed', 2), statuses('confirmed'))
  for (let count = 0; count < 31; count++) chain.tick()
  await check(inflight('Landed', 2), statuses('confirmed'))
  chain.tick()
  await check(inflight('Landed', 2), statuses('finalized'))
  nowMs = 300_000
  await check(inflight('Landed', 2), statuses('finalized'))
  nowMs = 300_001
  await check(inflight('Invalid', null), statuses('finalized'))
  for (let count = 0; count < 268; count++) chain.tick()
  t.equal(chain.tip.slot, 302)
  await check(inflight('Invalid', null), statuses('finalized'))
  chain.tick()
  await check(inflight('Invalid', null), statuses())
})

t.test('a bundle with a version 1 transaction lands', async t => {
  const { chain, payer, tip, engineTip, pay, sendBundle } = await openEngine(t)
  const first = pay(0n)
  const second = await compileV1(payer, chain.tip.blockhash, [tip(FLOOR, engineTip)])
  const id = deriveBundleId([first.bytes.subarray(1, 65), second.subarray(-64)])
  t.match(await sendBundle([first.bytes, second]), { status: 200, body: result(id) })
  t.equal(chain.tick().transactions.length, 2)
})

t.test('a bundle that does not land gets an id and fails', async t => {
  const { chain, payer, pay, sign, tip, engineTip, sendBundle, ask1, accounts } =
    await openEngine(t)
  const to = key('x').publicKey
  const [a, cheap] = [pay(FLOOR), pay(FLOOR - 1n)]
  const failing = sign([tip(FLOOR, engineTip), transferLamports(payer.publicKey, to, SOL ** 2n)])
  const back = transferLamports(payer.publicKey, bs58.decode(engineTip), 1n)
  const cases: [name: string, members: Buffer[], status: string][] = [
    ['a member fails', [a.bytes, failing], 'Failed'],
    ['the tip is too small', [cheap.bytes], 'Failed'],
    ['two members pay it together', [cheap.bytes, sign([back])], 'Pending'],
  ]
  for (const [name, members, status] of cases) {
    accounts.length = 0
    const id = idOf(...members.map(bytes => ({ bytes })))
    t.match(await sendBundle(members), { status: 200, body: result(id) }, name)
    const answer = { result: { value: [{ bundle_id: id, status, landed_slot: null }] } }
    t.match(await ask1('getInflightBundleStatuses', [id]), answer, name)
    t.strictSame(await ask1('getBundleStatuses', [id]), {
      jsonrpc: '2.0',
      result: { context: { slot: 1 }, value: [] },
      id: 7,
    })
    if (status === 'Failed') t.strictSame(accounts, [], `${name}: nothing is written`)
  }
  t.equal(chain.account(a.to), undefined)
  t.match(await sendBundle([a.bytes]), { status: 200 }, 'a member of it may be sent again')
  t.equal(chain.account(a.to)?.lamports, SOL)
})

t.test('invalid bundles are refused with the texts of the real engine', async t => {
  const made = await openEngine(t)
  const { chain, payer, pay, sign, tip, engineTip, sendBundle, sendIris } = made
  const to = key('to').publicKey
  const old = pay(FLOOR)
  for (let count = 0; count < 151; count++) chain.tick()
  const landed = pay(FLOOR)
  t.match(await sendBundle([landed.bytes]), { status: 200 })
  const five = [pay(FLOOR), pay(0n), pay(0n), pay(0n), pay(0n)].map(({ bytes }) => bytes)
  const locked = (count: number) =>
    sign([
      {
        ...tip(FLOOR, engineTip),
        accounts: [
          ...tip(FLOOR, engineTip).accounts,
          ...Array.from({ length: count }, (_none, index) =>
            readonly(key(`lock ${index}`).publicKey),
          ),
        ],
      },
    ])
  const strange = sign([tip(FLOOR, engineTip)], [payer], bs58.encode(to))
  const UNSIGNED =
    'bundles must not contain any duplicate transactions and every transaction must be signed'
  const cases: [name: string, members: Buffer[], body: string][] = [
    ['none', [], failure('bundle has no transactions')],
    ['six', [...five, pay(0n).bytes], failure('bundle exceeds max transaction length')],
    [
      'half a transaction',
      [five[0] ?? old.bytes, old.bytes.subarray(0, 90)],
      failure('transaction #1 could not be decoded'),
    ],
    ['one twice', [landed.bytes, landed.bytes], failure(UNSIGNED)],
    ['a forged one', [pay(FLOOR).bytes, forge(pay(0n).bytes)], failure(UNSIGNED)],
    ['another signature for one message', [landed.bytes, forge(landed.bytes)], failure(UNSIGNED)],
    ['an old hash', [pay(FLOOR).bytes, old.bytes], failure('bundle contains an expired blockhash')],
    ['an unknown hash', [strange], failure('bundle contains an invalid blockhash')],
    [
      'one that landed',
      [landed.bytes],
      failure('bundle contains an already processed transaction'),
    ],
    [
      'no tip account',
      [sign([transferLamports(payer.publicKey, to, SOL)])],
      failure('Bundles must write lock at least one tip account to be eligible for the auction.'),
    ],
  ]
  for (const [name, members, body] of cases) {
    t.match(await sendBundle(members), { status: 400, type: 'application/json', body }, name)
    if (members.length < 5)
      t.match(await sendIris(members), { status: 400, body }, `${name}, the other engine`)
  }
  // Payer, tip account and program in addition to them.
  t.match(await sendBundle([locked(30)]), { status: 200 })
  t.match(await sendBundle(five), { status: 200 }, 'five')
  t.match(await sendIris([...five.slice(1), pay(FLOOR).bytes]), {
    status: 400,
    body: failure('bundle exceeds max transaction length'),
  })
})

t.test('a transaction that locks too many accounts through a lookup table is refused', async t => {
  const { chain, payer, tip, engineTip, sendBundle } = await openEngine(t)
  const table = key('table').publicKey
  const addresses = Array.from({ length: 70 }, (_none, index) => key(`lock ${index}`).publicKey)
  const header = Buffer.alloc(56)
  header.writeUInt32LE(1)
  header.writeBigUInt64LE(NEVER_CLOSED, 4)
  header[21] = 1
  header.set(payer.publicKey, 22)
  chain.load(table, {
    lamports: SOL,
    owner: ADDRESSES.lookupTable,
    executable: false,
    rentEpoch: 0n,
    data: Buffer.concat([header, ...addresses]),
  })
  const transfer = tip(FLOOR, engineTip)
  const make = (count: number): Buffer => {
    const accounts = [...transfer.accounts, ...addresses.slice(0, count).map(readonly)]
    return compileV0([{ ...transfer, accounts }], payer, chain.tip.blockhash, {
      key: table,
      addresses,
    })
  }
  t.match(await sendBundle([make(62)]), {
    status: 400,
    body: failure('transaction has too many account locks', -32603),
  })
  t.match(await sendBundle([make(61)]), { status: 200 }, '64 with payer, tip account and program')
})

t.test('transactions that name a front account lead the bundle', async t => {
  const { payer, sign, engineTip, pay, sendBundle } = await openEngine(t)
  const front = bs58.decode('jitodontfront'.padEnd(43, '1'))
  const near = bs58.decode('jitodontfronu'.padEnd(43, '1'))
  let count = 0n
  const marked = (mark: Uint8Array, signer = payer) => {
    const transfer = transferLamports(signer.publicKey, bs58.decode(engineTip), 2_000n + count++)
    return sign([{ ...transfer, accounts: [...transfer.accounts, readonly(mark)] }], [signer])
  }
  const other = key('other')
  const cases: [name: string, members: () => Buffer[], status: number][] = [
    ['first', () => [marked(front), pay(0n).bytes], 200],
    ['second', () => [pay(0n).bytes, marked(front)], 400],
    ['first and second', () => [marked(front), marked(front), pay(0n).bytes], 200],
    ['first and second of another signer', () => [marked(front), marked(front, other)], 400],
    ['first and third', () => [marked(front), pay(0n).bytes, marked(front)], 400],
    ['a name like it, second', () => [pay(0n).bytes, marked(near)], 200],
  ]
  for (const [name, members, status] of cases)
    t.equal((await sendBundle(members())).status, status, name)
})

t.test('the default encoding is base58, and base64 at the iris engine', async t => {
  const { pay, call } = await openEngine(t)
  const [a, b] = [pay(FLOOR), pay(FLOOR)]
  const NOT_DECODED = failure('transaction #0 could not be decoded')
  t.match(await call('sendBundle', [[base64(a.bytes)]]), { status: 400, body: NOT_DECODED })
  t.match(await call('sendBundle', [[bs58.encode(a.bytes)]]), { body: result(idOf(a)) })
  t.match(await call('sendBundle', [[base64(b.bytes)]], '/iris'), { body: result([b.signature]) })
  for (const params of [[], ['x'], [{}]]) {
    const body = failure('the first parameter is a list of transactions')
    t.match(await call('sendBundle', params), { status: 400, body })
  }
  t.match(await call('sendBundle', [[7]]), { status: 400, body: NOT_DECODED })
})

t.test('the iris engine answers signatures', async t => {
  const { chain, payer, pay, sign, tip, engineTip, call, sendIris } = await openEngine(t)
  const four = [pay(FLOOR), pay(0n), pay(0n), pay(0n)]
  t.match(await sendIris(four.map(({ bytes }) => bytes)), {
    status: 200,
    body: result(four.map(({ signature }) => signature)),
  })
  t.equal(chain.tick().transactions.length, 4)
  const failing = (lamports: bigint) =>
    sign([tip(FLOOR, engineTip), transferLamports(payer.publicKey, key('x').publicKey, lamports)])
  t.match(await sendIris([failing(SOL ** 2n)]), { status: 200 })
  t.equal(chain.tick().transactions.length, 0, 'protected, it does not land')
  t.match(await sendIris([failing(SOL ** 2n + 1n)], { ...IRIS, revertProtection: false }), {
    status: 200,
  })
  t.match(chain.tick().transactions, [{ error: { InstructionError: [1, { Custom: 1 }] } }])
  const alone = pay(0n)
  t.match(await call('sendTransaction', [base64(alone.bytes)], '/iris'), {
    body: result(alone.signature),
  })
  t.match(await call('getHealth', [], '/iris'), { body: result('ok') })
  t.match(await call('getTipAccounts', [], '/iris'), {
    status: 400,
    body: failure('Method not found', -32601),
  })
})

t.test('single transactions are accepted', async t => {
  const { chain, pay, call } = await openEngine(t)
  const path = '/api/v1/transactions'
  const [a, b, c] = [pay(0n), pay(FLOOR), pay(0n)]
  t.match(await call('sendTransaction', [bs58.encode(a.bytes)], path), {
    body: result(a.signature),
  })
  t.equal(chain.account(a.to)?.lamports, SOL, 'without a tip')
  const only = await call('sendTransaction', [base64(b.bytes), BASE64], `${path}?bundleOnly=true`)
  t.match(only, { status: 200, body: result(b.signature) })
  t.equal(only.headers.get('x-bundle-id'), idOf(b))
  t.match(await call('sendTransaction', [base64(forge(c.bytes)), BASE64], path), {
    status: 400,
    body: failure('Transaction signature verification failure', -32003),
  })
  t.match(await call('sendTransaction', [base64(c.bytes)], path), {
    status: 400,
    body: failure('transaction #0 could not be decoded'),
  })
  const third = await call('sendTransaction', [base64(a.bytes), BASE64], `${path}?bundleOnly=true`)
  t.match(third, { status: 400, body: failure('bundle contains an already processed transaction') })
})
