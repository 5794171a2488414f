import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import bs58 from 'bs58'
import t, { type Test } from 'tap'
import type { Fanout, Pass } from '../../src/native/fanout.js'
import type { BlockData, Indexer } from '../../src/native/indexer.js'
import { NativeError } from '../../src/native/errors.js'
import { openStore } from '../fixtures/rpc/store.js'

const OPTIONS = { subscriptionsMax: 1_000, chunkBytesMax: 4 * 1024 ** 2 }
const BASE64 = { encoding: 'base64' } as const
const key = (byte: number): Uint8Array => new Uint8Array(32).fill(byte)
const PROGRAM = key(9)

const account = (byte: number, lamports: bigint, data = Buffer.from('abc')) => ({
  pubkey: key(byte),
  lamports,
  rentEpoch: 2n ** 64n - 1n,
  executable: false,
  owner: PROGRAM,
  data,
})

const signature = (byte: number): Uint8Array => new Uint8Array(64).fill(byte)

/** Blocks with consecutive slots from 1. */
const blocksOf = (indexer: Indexer) => {
  let slot = 0
  return (more: Partial<BlockData> = {}): void => {
    slot++
    indexer.applyBlock({
      slot,
      parentSlot: slot - 1,
      blockhash: key(slot),
      parentBlockhash: key(slot - 1),
      blockHeight: slot,
      accounts: [],
      ...more,
    })
  }
}

const open = (t: Test, options = OPTIONS) => {
  const { indexer, reader } = openStore(t)
  const fanout = reader.openFanout(options)
  t.teardown(() => fanout.close())
  return { dir: t.testdirName, fanout, reader, apply: blocksOf(indexer) }
}

type Frame = { readonly id: number; readonly isLast: boolean; readonly text: string }

const framesOf = ({ frames, index }: Pass): Frame[] => {
  const found: Frame[] = []
  let at = 0
  for (let row = 0; row < index.length; row += 3) {
    const [id = 0, length = 0, flags = 0] = index.subarray(row, row + 3)
    found.push({
      id,
      isLast: flags === 1,
      text: Buffer.from(frames).toString('utf8', at, at + length),
    })
    at += length
  }
  if (at !== frames.length) throw new Error(`${frames.length - at} bytes belong to no frame`)
  return found
}

const passAll = async (fanout: Fanout): Promise<Frame[]> => {
  const found: Frame[] = []
  for (;;) {
    const pass = await fanout.pass()
    if (pass.isLost) throw new Error('lost')
    found.push(...framesOf(pass))
    if (!pass.hasMore) return found
  }
}

t.test('every kind of subscription gets its frames', async t => {
  const { fanout, apply } = open(t)
  apply()
  fanout.addAccount(1, key(1), BASE64)
  fanout.addAccount(2, key(1), { encoding: 'base64', slice: { offset: 1, length: 1 } })
  fanout.addProgram(3, PROGRAM, [{ dataSize: 3 }, { offset: 1, bytes: Buffer.from('b') }], BASE64)
  fanout.addProgram(4, PROGRAM, [{ dataSize: 4 }], BASE64)
  fanout.addLogs(5, 'all')
  fanout.addLogs(6, 'allWithVotes')
  fanout.addLogs(7, key(1))
  fanout.addLogs(8, key(2))
  fanout.addSignature(10, signature(2), 'confirmed', true)
  fanout.addSignature(11, signature(2), 'finalized', false)
  fanout.addSlot(12)
  fanout.addRoot(13)
  fanout.addSlot(14)
  fanout.remove(14)
  t.match(await fanout.pass(), { slot: 1, isLost: false, hasMore: false })
  apply({
    accounts: [account(1, 2n ** 64n - 1n)],
    transactions: [
      { signature: signature(1), isVote: true, keys: key(3), logs: ['vote'] },
      {
        signature: signature(2),
        error: Uint8Array.of(8, 0, 0, 0, 0, 25, 0, 0, 0, 1, 0, 0, 0),
        keys: Buffer.concat([key(3), key(1)]),
        logs: ['Program log: "é"'],
      },
    ],
    root: 1,
  })
  const shown = {
    data: ['YWJj', 'base64'],
    owner: bs58.encode(PROGRAM),
    executable: false,
    space: 3,
  }
  const context = { slot: 2 }
  const failure = { InstructionError: [0, { Custom: 1 }] }
  const logs = {
    context,
    value: { signature: bs58.encode(signature(2)), err: failure, logs: ['Program log: "é"'] },
  }
  const expected: [method: string, id: number, result: unknown][] = [
    ['slot', 12, { slot: 2, parent: 1, root: 1 }],
    ['root', 13, 1],
    ['account', 1, { context, value: shown }],
    ['account', 2, { context, value: { ...shown, data: ['Yg==', 'base64'] } }],
    ['program', 3, { context, value: { pubkey: bs58.encode(key(1)), account: shown } }],
    ['logs', 6, { context, value: { signature: bs58.encode(signature(1)), err: null } }],
    ['logs', 5, logs],
    ['logs', 6, logs],
    ['logs', 7, logs],
    ['signature', 10, { context, value: 'receivedSignature' }],
    ['signature', 10, { context, value: { err: failure } }],
  ]
  const frames = await passAll(fanout)
  t.equal(frames.length, expected.length)
  for (const [row, [method, subscription, result]] of expected.entries())
    t.match(JSON.parse(frames[row]?.text ?? 'null'), {
      jsonrpc: '2.0',
      method: `${method}Notification`,
      params: { result, subscription },
    })
  t.match(frames[2]?.text, /"lamports":18446744073709551615,/, 'no number lost its last digits')
  t.strictSame(
    frames.filter(({ isLast }) => isLast).map(({ id }) => id),
    [10],
  )
  apply({ root: 2 })
  const last = await passAll(fanout)
  t.match(last.at(-1), { id: 11, isLast: true, text: /"slot":2},"value":{"err":{"Instr/ })
  t.match(fanout.stats(), { subscriptions: 10, changes: 3, frames: 14 })
})

t.test('a known outcome is sent with the next pass', async t => {
  const { fanout, apply } = open(t)
  apply({ transactions: [{ signature: signature(1) }] })
  await passAll(fanout)
  fanout.addSignature(1, signature(1), 'confirmed', false)
  t.match(await passAll(fanout), [{ id: 1, isLast: true, text: /"value":{"err":null}/ }])
})

t.test('frames are returned in chunks', async t => {
  const { fanout, apply } = open(t, { ...OPTIONS, chunkBytesMax: 1_000 })
  apply()
  for (let id = 1; id <= 50; id++) fanout.addAccount(id, key(1), BASE64)
  await passAll(fanout)
  apply({ accounts: [account(1, 1n, Buffer.alloc(600))] })
  const first = await fanout.pass()
  t.match(first, { slot: 1, hasMore: true })
  t.equal(framesOf(first).length, 1)
  const rest = await passAll(fanout)
  t.strictSame(
    rest.map(({ id }) => id),
    Array.from({ length: 49 }, (_none, index) => index + 2),
  )
  t.match(await fanout.pass(), { slot: 2, hasMore: false })
})

t.test('changes that the store no longer has are reported as lost', async t => {
  const { fanout, apply } = open(t)
  apply()
  fanout.addAccount(1, key(1), BASE64)
  await passAll(fanout)
  for (let count = 0; count < 20; count++) apply({ accounts: [account(1, 1n)] })
  t.match(await fanout.pass(), { slot: 21, isLost: true, hasMore: false })
  apply({ accounts: [account(1, 1n)] })
  t.equal((await passAll(fanout)).length, 1, 'the next pass continues')
})

t.test('a damaged slot is lost, and a gap for what is resumed', async t => {
  const { dir, fanout, apply } = open(t)
  const cursors = { access: 'acc_1', socket: 1 }
  apply()
  fanout.addSlot(1, cursors)
  await passAll(fanout)
  apply({ accounts: [account(1, 1n)] })
  const from = JSON.parse((await passAll(fanout))[0]?.text ?? '').params.result.cursor
  apply({ accounts: [account(1, 2n)] })
  apply({ accounts: [account(1, 3n)] })
  // The third slot is in the third file.
  const file = join(dir, 'feed', '0000000000000002')
  const bytes = readFileSync(file)
  writeFileSync(file, bytes.fill(1, bytes.length - 1))
  fanout.addAccount(2, key(1), BASE64)
  t.match(await fanout.pass(), { isLost: true, damagedSlot: 3 })
  fanout.addAccount(3, key(1), BASE64, { ...cursors, from })
  const pass = await fanout.pass()
  t.match(pass, { isLost: false, damagedSlot: 3 })
  const results = framesOf(pass).map(({ text }) => JSON.parse(text).params.result)
  t.match(results, [
    { context: { slot: 2 } },
    { gap: { from: 3, to: 3, reason: 'damaged' } },
    { context: { slot: 4 } },
  ])
})

t.test('passes are not concurrent, and fail after close', async t => {
  const { fanout, reader, apply } = open(t, { ...OPTIONS, subscriptionsMax: 2 })
  apply()
  fanout.addSlot(1)
  const under = fanout.pass()
  await t.rejects(
    fanout.pass(),
    new NativeError('internal', 'native argument: a pass is under way'),
  )
  await under
  t.throws(() => fanout.addSlot(1), /in use/)
  t.throws(() => fanout.addSlot(0), /subscription id/)
  fanout.addSlot(2)
  t.throws(() => fanout.addSlot(3), /subscriptionsMax/)
  reader.close()
  apply()
  t.equal((await passAll(fanout)).length, 2, 'the store stays open until the fan-out is closed')
  const late = fanout.pass()
  fanout.close()
  t.match(await late, { slot: 2 }, 'what ran has ended')
  await t.rejects(fanout.pass(), /closed/)
  t.throws(() => fanout.addSlot(4), /closed/)
  fanout.remove(1)
  fanout.close()
})
