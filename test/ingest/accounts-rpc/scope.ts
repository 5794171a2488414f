import bs58 from 'bs58'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { Rpc, type RpcTarget } from '../../../src/ingest/accounts-rpc/client.js'
import { defaults, type Options } from '../../../src/ingest/accounts-rpc/options.js'
import {
  type Part,
  splitByPrefix,
  splitBySize,
  toFilters,
} from '../../../src/ingest/accounts-rpc/part.js'
import {
  type ListedScope,
  readScope,
  type ScopeReadParts,
} from '../../../src/ingest/accounts-rpc/scope.js'
import { unpackRows } from '../../../src/native/rpc-answer.js'
import {
  type ReceivedCall,
  type ProviderAccount,
  type ProviderFault,
  openProvider,
} from '../../fixtures/ingest/rpc-provider.js'

const key = (...bytes: number[]): Uint8Array => {
  const made = new Uint8Array(32).fill(7)
  made.set(bytes)
  return made
}
const PROGRAM = key(1, 1)
const TOKEN = bs58.decode('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA')
const TOKEN_2022 = bs58.decode('TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb')
const CLOCK = bs58.decode('SysvarC1ock11111111111111111111111111111111')
const EMPTY_SCOPE: ListedScope = { programs: [], mints: [], pubkeys: [] }

const account = (pubkey: Uint8Array, owner: Uint8Array, data: Uint8Array): ProviderAccount => ({
  pubkey,
  owner,
  data,
})
const clock = account(CLOCK, key(9), Buffer.alloc(40))
const mintData = (): Buffer => Buffer.alloc(82).fill(1, 45, 46)
const tokenData = (mint: Uint8Array, wallet: Uint8Array): Buffer =>
  Buffer.concat([mint, wallet, Buffer.alloc(44), Buffer.of(1), Buffer.alloc(56)])

type Given = {
  readonly accounts?: readonly ProviderAccount[]
  readonly slot?: number
  readonly hasContext?: boolean
  readonly fault?: (call: ReceivedCall) => ProviderFault | undefined
  readonly options?: Partial<Options>
  readonly target?: Partial<RpcTarget>
  readonly minContextSlot?: number
  readonly push?: ScopeReadParts['push']
}

/** Reads a scope from a provider. Returns the newest row of each address. */
const open = async (t: Test, scope: Partial<ListedScope>, given: Given = {}) => {
  const { accounts = [], slot = 100, fault, hasContext = false } = given
  const provider = await openProvider(t, {
    accounts: [clock, ...accounts],
    slot,
    hasContext,
    ...(fault === undefined ? {} : { fault }),
  })
  const options: Options = {
    ...defaults,
    requestsPerSecondMax: 1_000_000,
    ...given.options,
  }
  const slept: number[] = []
  const end = new AbortController()
  // Pauses of the rate limit are not recorded.
  const sleep = async (ms: number): Promise<void> => void (ms >= 1 && slept.push(ms))
  const rpc = new Rpc({ endpoint: provider.url, ...given.target }, options, {
    signal: end.signal,
    sleep,
  })
  t.teardown(() => rpc.close())
  const rows = new Map<string, { slot: number; data: string }>()
  const push = (packed: Uint8Array): void => {
    for (const row of unpackRows(packed))
      rows.set(bs58.encode(row.pubkey), {
        slot: row.slot,
        data: row.lamports === 0n ? 'none' : Buffer.from(row.data).toString('hex'),
      })
  }
  const read = () =>
    readScope(rpc, options, {
      scope: { ...EMPTY_SCOPE, ...scope },
      minContextSlot: given.minContextSlot ?? 90,
      push: given.push ?? push,
      signal: end.signal,
      sleep,
    })
  return { provider, rows, read, slept, end }
}

const wholeProgram = { programs: [bs58.encode(PROGRAM)] }
const several = Array.from({ length: 40 }, (_, i) =>
  account(key(2, i), PROGRAM, Buffer.alloc(i % 3 === 0 ? 4 : 30, i)),
)
const textOf = ({ pubkey }: ProviderAccount): string => bs58.encode(pubkey)

t.test('a read of a scope returns all of its accounts and their mints', async t => {
  const [mint, mint2022, gone, ours] = [key(3), key(4), key(5), key(6)]
  const accounts = [
    account(mint, TOKEN, mintData()),
    account(mint2022, TOKEN_2022, mintData()),
    account(key(10), TOKEN, tokenData(mint, key(20))),
    account(key(11), TOKEN_2022, tokenData(mint2022, key(20))),
    account(key(12), TOKEN_2022, tokenData(gone, key(20))),
    account(key(13), TOKEN, tokenData(ours, key(20))),
    account(ours, TOKEN, mintData()),
    ...several,
  ]
  const scope = {
    ...wholeProgram,
    mints: [mint, mint2022, gone].map(bs58.encode),
    pubkeys: [key(13), key(99)].map(bs58.encode),
  }
  const { provider, rows, read } = await open(t, scope, { accounts })
  const { lowestSlot, highestSlot, rows: count, requests } = await read()
  const {
    [bs58.encode(gone)]: absent,
    [bs58.encode(key(99))]: other,
    ...found
  } = Object.fromEntries(rows)
  t.match([absent, other], [{ data: 'none' }, { data: 'none' }])
  t.strictSame(Object.keys(found).sort(), [clock, ...accounts].map(textOf).sort())
  for (const { pubkey, data } of accounts)
    t.equal(rows.get(bs58.encode(pubkey))?.data, Buffer.from(data).toString('hex'))
  t.strictSame([lowestSlot, highestSlot, count], [100, 100, rows.size])
  t.equal(requests, provider.received.length)
  const ofMint = (of: Uint8Array) =>
    provider.received
      .filter(({ filters }) => filters.some(({ memcmp }) => memcmp?.bytes === bs58.encode(of)))
      .map(({ filters }) => filters.map(filter => filter.dataSize ?? 'memcmp'))
  t.strictSame(ofMint(mint), [['memcmp', 165]])
  t.strictSame(ofMint(mint2022), [['memcmp']])
  t.strictSame(ofMint(gone), [['memcmp', 165], ['memcmp']], 'its program is not known')
  t.ok(provider.received.every(({ config }) => config['commitment'] === 'confirmed'))
})

t.test('rows of pages without a slot get a lower bound of it', async t => {
  const options = { isPaged: true, pageRowsMax: 7, slackSlots: 5 }
  const withContext = await open(t, wholeProgram, { accounts: several, options, hasContext: true })
  t.match(await withContext.read(), { lowestSlot: 100, highestSlot: 105 })
  t.equal(withContext.rows.size, several.length + 1)
  t.equal(withContext.provider.received.filter(({ method }) => method.endsWith('V2')).length, 6)
  const silent = await open(t, wholeProgram, { accounts: several, options })
  t.match(await silent.read(), { lowestSlot: 95, highestSlot: 105 })
  t.equal(silent.rows.get(textOf(several[0] ?? clock))?.slot, 95)
  const far = await open(t, wholeProgram, {
    options: { ...options, reachSlotMs: 0 },
    minContextSlot: 98,
  })
  await t.rejects(far.read(), /at slot 100 and did not reach 103 within \d+ ms/)
})

const FILTERS_MAX = 4
const REFUSALS: readonly [name: string, fault: ProviderFault][] = [
  [
    'an error of Helius',
    {
      error: { code: -32600, message: 'Request deprioritized due to number of accounts requested' },
    },
  ],
  [
    'an error of Agave',
    {
      error: {
        code: -32012,
        message: 'scan aborted: The accumulated scan results exceeded the limit',
      },
    },
  ],
  ['413', { status: 413, body: 'no' }],
  ['a gateway that does not wait', { status: 504, body: '<html>' }],
]
for (const [name, fault] of REFUSALS)
  t.test(`a refused request is split: ${name}`, async t => {
    const accounts = Array.from({ length: 60 }, (_, i) =>
      account(key(2, i), PROGRAM, Buffer.alloc(i % 5 === 0 ? i / 5 : 12, i)),
    )
    const { rows, read, provider } = await open(t, wholeProgram, {
      accounts,
      fault: ({ method, count, config }) =>
        method === 'getProgramAccounts' && count > 9 && config['dataSlice'] === undefined
          ? fault
          : undefined,
    })
    await read()
    t.strictSame([...rows.keys()].sort(), [clock, ...accounts].map(textOf).sort())
    t.ok(provider.received.every(({ filters }) => filters.length <= FILTERS_MAX))
  })

t.test('a provider that also refuses the list of lengths is split by bytes', async t => {
  const { rows, read, provider } = await open(t, wholeProgram, {
    accounts: several,
    fault: ({ count }) =>
      count > 20 ? { error: { code: -32000, message: 'response too large' } } : undefined,
  })
  await read()
  t.equal(rows.size, several.length + 1)
  t.ok(provider.received.some(({ filters }) => filters[0]?.memcmp?.offset === 8))
})

t.test('a provider that always refuses causes an error that names the options', async t => {
  const { read } = await open(t, wholeProgram, {
    accounts: several,
    options: { splitPrefixBytesMax: 1 },
    fault: ({ method }) =>
      method === 'getProgramAccounts'
        ? { error: { code: -32012, message: 'too many' } }
        : undefined,
  })
  await t.rejects(read(), /cannot be split further: raise networks.accountsRpc.splitPrefixBytesMax/)
})

t.test('parts cover all accounts, and none twice', t => {
  const root: Part = {
    program: 'p',
    what: 'p',
    fixed: [],
    shortestBytes: 0,
    dataSize: undefined,
    offset: 2,
    prefix: [],
  }
  const anyData = fc.uint8Array({ maxLength: 6, max: 3 })
  const isIn = (part: Part, data: Uint8Array): boolean =>
    toFilters(part).every(filter =>
      'dataSize' in filter
        ? data.length === filter.dataSize
        : Buffer.from(filter.memcmp.bytes, 'base64').equals(
            data.subarray(
              filter.memcmp.offset,
              filter.memcmp.offset + Buffer.from(filter.memcmp.bytes, 'base64').length,
            ),
          ),
    )
  fc.assert(
    fc.property(anyData, fc.array(fc.boolean(), { maxLength: 4 }), (data, bySize) => {
      let part: Part | undefined = root
      for (const wantsSize of bySize) {
        const parts: readonly Part[] | undefined =
          wantsSize && part.dataSize === undefined && part.prefix.length === 0
            ? splitBySize(part, [0, 1, 2, 3, 4, 5, 6])
            : splitByPrefix(part, 3)
        if (parts === undefined) return true
        const within: readonly Part[] = parts.filter(smaller => isIn(smaller, data))
        if (within.length !== 1) return false
        part = within[0] ?? root
      }
      return true
    }),
  )
  t.end()
})

const gpa = (fault: ProviderFault) => (call: ReceivedCall) =>
  call.method === 'getProgramAccounts' ? fault : undefined
const error = (code: number, message: string): ProviderFault => ({ error: { code, message } })
const REFUSED: readonly [name: string, fault: ProviderFault, message: RegExp, tries: number][] = [
  [
    'a key that no index contains',
    error(-32010, 'p excluded from account secondary indexes'),
    /-32010 p excluded.*networks.scope/,
    1,
  ],
  [
    'a method that is not there',
    error(-32601, 'Method not found'),
    /networks.accountsRpc.endpoint/,
    1,
  ],
  [
    'a wrong key',
    { status: 401, body: 'who?' },
    /HTTP 401 who\?; check networks.accountsRpc.credential/,
    1,
  ],
  [
    'a wrong place',
    { status: 404, body: '<p>' },
    /HTTP 404; check networks.accountsRpc.endpoint/,
    1,
  ],
  ['an error of the node', error(-32005, 'Node is behind by 9 slots'), /its node is behind/, 8],
  ['a page in place of an answer', { body: '<html>' }, /the answer is no JSON/, 8],
  ['an answer that breaks off', { cutAt: 150 }, /no whole answer/, 8],
  [
    'too many requests',
    { status: 429, body: 'slow down' },
    /HTTP 429 slow down; lower networks.accountsRpc.requestsPerSecondMax/,
    8,
  ],
  ['no server behind the gateway', { status: 503, body: '{}' }, /HTTP 503/, 8],
]
for (const [name, fault, message, tries] of REFUSED)
  t.test(`attempts after a failure: ${name}`, async t => {
    const given = { accounts: several, fault: gpa(fault) }
    const { read, provider, slept } = await open(t, wholeProgram, given)
    await t.rejects(read(), { name: 'RpcReadFailure', message })
    t.equal(provider.received.filter(({ method }) => method === 'getProgramAccounts').length, tries)
    t.ok(slept.every(ms => ms <= defaults.backoffMaxMs))
  })

t.test('temporary failures are retried after a pause', async t => {
  let calls = 0
  const { read, rows, slept, provider } = await open(t, wholeProgram, {
    accounts: several,
    slot: 89,
    fault: ({ method }) => {
      if (method !== 'getProgramAccounts') {
        provider.options.slot = 95
        return undefined
      }
      calls++
      if (calls === 1) return { status: 429, headers: { 'retry-after': '3' }, body: '' }
      if (calls === 2) return { cutAt: 2_000 }
      provider.options.slot = 101
      return undefined
    },
  })
  t.match(await read(), { lowestSlot: 95, highestSlot: 101 }, 'the broken try counts')
  t.equal(rows.size, several.length + 1)
  t.strictSame(slept, [3_000, 1_000])
})

t.test('an answer before the first slot of the feed is rejected', async t => {
  const { read, rows } = await open(t, wholeProgram, {
    slot: 5,
    minContextSlot: 90,
    fault: ({ method }) =>
      method === 'getMultipleAccounts'
        ? { body: '{"result":{"context":{"slot":5},"value":[null]}}' }
        : undefined,
  })
  await t.rejects(
    read(),
    /of slot 5, before slot 90 of the feed: the provider ignores minContextSlot/,
  )
  t.equal(rows.size, 0)
})

t.test('a failure of the row consumer is not retried', async t => {
  const full = new Error('the disk is full')
  const push = () => Promise.reject(full)
  const { read, provider } = await open(t, wholeProgram, { accounts: several, push })
  await t.rejects(read(), full)
  t.equal(provider.received.length, 1)
})

t.test('a secret is sent to the upstream only, and never printed', async t => {
  const secret = 's3cr3t/+key'
  for (const credentialIn of ['header', 'query']) {
    const { read, provider } = await open(t, wholeProgram, {
      target: { credential: secret },
      options: { credentialIn },
      fault: gpa({ status: 403, body: `no such key: ${secret} ${encodeURIComponent(secret)}` }),
    })
    const failure = await read().then(
      () => t.fail('read'),
      (failed: Error) => failed.message + String(failed.stack),
    )
    t.notMatch(failure, /s3cr3t/)
    t.match(failure, /\[redacted\]/)
    const [first] = provider.received
    const sent = credentialIn === 'header' ? first?.headers['x-api-key'] : first?.path
    t.equal(sent, credentialIn === 'header' ? secret : `/?x-api-key=${encodeURIComponent(secret)}`)
  }
})

t.test('an abort ends the read at once', async t => {
  const { read, end } = await open(t, wholeProgram, {
    fault: () => {
      end.abort(new Error('stopped'))
      return { status: 503 }
    },
  })
  await t.rejects(read(), { message: 'stopped' })
})

t.test('the number of requests is limited', async t => {
  const options = { requestsMax: 4, splitPrefixBytesMax: 2 }
  const { read, provider } = await open(t, wholeProgram, {
    accounts: several,
    options,
    fault: gpa(error(-32012, 'too many')),
  })
  await t.rejects(read(), /over 4 requests: raise networks.accountsRpc.requestsMax/)
  t.equal(provider.received.length, 4)
})
