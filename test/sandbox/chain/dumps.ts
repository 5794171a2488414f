import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import bs58 from 'bs58'
import t from 'tap'
import { parseDump, readDumps } from '../../../src/sandbox/chain/dumps.js'
import { isWrittenByBlocks } from '../../../src/sandbox/chain/system/sysvars.js'
import { startSandboxChain } from '../../../src/sandbox/sandbox-chain.js'
import { createClock, isStatus, CONFIRMED, openFeed } from '../../fixtures/sandbox/sandbox.js'
import { SHARED_ABSENT, sharedPath } from '../../fixtures/shared.js'

const PUBKEY = bs58.encode(Buffer.alloc(32, 7))
const OWNER = '11111111111111111111111111111111'

const dump = (changes: Record<string, unknown> = {}, pubkey: unknown = PUBKEY) =>
  JSON.stringify({
    pubkey,
    account: {
      lamports: 1,
      data: ['AQI=', 'base64'],
      owner: OWNER,
      executable: false,
      rentEpoch: 0,
      ...changes,
    },
  })

t.test('numbers above 2^53 are exact', async t => {
  const text = dump()
    .replace('"lamports":1', '"lamports" : 9007199254740993')
    .replace('"rentEpoch":0', '"rentEpoch":18446744073709551615')
  t.match(parseDump(text).state, { lamports: 9007199254740993n, rentEpoch: 2n ** 64n - 1n })
  t.match(parseDump(dump({ space: 2 })).state, { lamports: 1n, rentEpoch: 0n })
})

const refused: [name: string, text: string, message: string][] = [
  ['half a file', dump().slice(0, -2), 'not JSON'],
  ['a list', '[]', 'expected {pubkey, account: {…}}'],
  ['no account', '{"pubkey":"x"}', 'expected {pubkey, account: {…}}'],
  ['a short pubkey', dump({}, 'abc'), 'pubkey must be a base58 address'],
  ['another encoding', dump({ data: ['AQI=', 'base64+zstd'] }), 'data must be [text, "base64"]'],
  ['plain data', dump({ data: 'AQI=' }), 'data must be [text, "base64"]'],
  ['broken base64', dump({ data: ['AQI', 'base64'] }), 'data is not base64'],
  ['a negative number', dump({ lamports: -1 }), 'lamports must be an integer'],
  ['a fraction', dump({ lamports: 1.5 }), 'lamports must be an integer'],
  ['no rent epoch', dump({ rentEpoch: undefined }), 'rentEpoch must be an integer'],
  ['no flag', dump({ executable: 1 }), 'executable must be true or false'],
  [
    'a rounded number',
    dump().replace('"rentEpoch":0', '"rentEpoch":18446744073709552000'),
    'rentEpoch 18446744073709552000 was rounded by the tool that wrote it; 18446744073709551615 was meant',
  ],
  [
    'too large a number',
    dump().replace('"lamports":1', '"lamports":18446744073709551616'),
    'lamports 18446744073709551616 exceeds 18446744073709551615',
  ],
]
for (const [name, text, message] of refused)
  t.test(name, async t => t.throws(() => parseDump(text), { name: 'DumpError', message }))

t.test('the error of an invalid file is one line that names it', async t => {
  const folder = t.testdir({ 'a.json': dump(), 'b.json': '{', 'notes.txt': 'not a dump' })
  t.throws(() => readDumps(folder), { message: `${join(folder, 'b.json')}: not JSON` })
  t.throws(() => readDumps(join(folder, 'none')), /none: ENOENT/)
  t.throws(() => readDumps(folder, { fileBytesMax: 10 }), /a\.json: file exceeds 10 bytes$/)
  t.throws(() => readDumps(folder, { folderBytesMax: 10 }), /a\.json: the folder exceeds 10 bytes$/)
  writeFileSync(join(folder, 'b.json'), dump({ lamports: 2 }))
  t.equal(readDumps(folder).length, 2)
})

t.test('programs are loaded after their code', async t => {
  const folder = t.testdir({ 'a.json': dump({ executable: true }), 'b.json': dump() })
  t.strictSame(
    readDumps(folder).map(({ state }) => state.executable),
    [false, true],
  )
})

const accountDir = sharedPath('accounts')

t.test(
  'every shared dump is published exactly',
  { skip: accountDir ? false : SHARED_ABSENT },
  async t => {
    if (accountDir === undefined) return
    const sandbox = await startSandboxChain({ slotMs: 0, accountDir }, createClock().now)
    t.teardown(() => sandbox.close())
    const feed = openFeed(sandbox.geyserUrl)
    t.teardown(() => feed.close())
    feed.ask({ accounts: { all: {} }, slots: { s: {} }, commitment: CONFIRMED, fromSlot: '1' })
    const published = new Map<string, unknown>()
    for (const { account } of await feed.until(isStatus(1, CONFIRMED))) {
      if (account?.account === undefined) continue
      const { pubkey, lamports, rentEpoch, executable, owner, data } = account.account
      published.set(bs58.encode(pubkey), {
        lamports,
        rentEpoch,
        executable,
        owner: bs58.encode(owner),
        data: Buffer.from(data).toString('base64'),
      })
    }
    const files = readdirSync(accountDir)
    t.ok(files.length > 300 && existsSync(accountDir))
    for (const file of files) {
      const text = readFileSync(join(accountDir, file), 'utf8')
      // By pattern, independently of the loader.
      const number = (name: string) => new RegExp(`"${name}":\\s*(\\d+)`).exec(text)?.[1]
      const string = (name: string) => new RegExp(`"${name}":\\s*"([^"]+)"`).exec(text)?.[1]
      const pubkey = string('pubkey') ?? ''
      if (isWrittenByBlocks(bs58.decode(pubkey))) continue
      const expected = {
        lamports: number('lamports'),
        rentEpoch: number('rentEpoch'),
        executable: /"executable":\s*true/.test(text),
        owner: string('owner'),
        data: /"data":\s*\[\s*"([^"]*)"/.exec(text)?.[1],
      }
      t.strictSame(published.get(pubkey), expected, pubkey)
      const state = sandbox.chain.account(bs58.decode(pubkey))
      t.equal(String(state?.lamports ?? 0n), expected.lamports, `${pubkey} on the chain`)
    }
  },
)
