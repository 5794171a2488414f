// Reads at the native boundary, without HTTP. Sketch of what each should cost, for the numbers to
// prove wrong:
//   point read      one B-tree walk of four levels, 220 bytes of base64, one copy: 1.5 µs
//   page by key     one walk, then neighbours; 3.8 MB of JSON at about 1 GB/s: 5 ms
//   page by index   the same and one walk per row, most of it cache misses: 10 ms more
//   scan by key     one leaf page for 14 accounts, 32 bytes of owner and 8 of data each: 0.1 µs
import assert from 'node:assert/strict'
import bs58 from 'bs58'
import { Bench } from 'tinybench'
import { onStart } from '../child.js'
import {
  poolProgram,
  sampleTokens,
  TOKEN_PROGRAM,
  tokenPubkey,
  walletPubkey,
  discriminator,
  mintPubkey,
  type DataSet,
} from '../data/data.js'
import type { BodySource } from '../../src/shared/http.js'
import { openReader } from '../../src/native/reader.js'
import type { Filter, Page, Reads } from '../../src/native/reads.js'
import { POOL_OPTIONS, READ_LIMITS, STORE_OPTIONS } from '../options.js'
import { pageReads } from '../data/pages.js'
import { accountValue, callBody, checkReply, parseExactly } from '../data/reference.js'
import { createExpectedState, type History, type ExpectedState } from '../data/expected-state.js'

export type Start = {
  readonly dir: string
  readonly set: DataSet
  readonly history: History
  readonly pageLimit: number
  readonly repeats: number
  readonly pointMs: number
}

/** Milliseconds of each page, microseconds of each point read, by name. */
export type Measured = {
  readonly pageMs: Readonly<Record<string, number>>
  readonly scanMicrosPerAccount: number
  readonly pointMicros: Readonly<Record<string, number>>
}

const chunk = Buffer.alloc(1024 * 1024)

const readAll = async (source: BodySource): Promise<Buffer> => {
  const parts: Buffer[] = []
  for (;;) {
    const count = await source.read(chunk)
    if (count === 0) break
    parts.push(Buffer.from(chunk.subarray(0, count)))
  }
  source.close()
  return Buffer.concat(parts)
}

const sourceOf = async (reply: ReturnType<Reads['programPage']>): Promise<BodySource> => {
  const body = await reply
  if (body instanceof Uint8Array) throw new Error('a page must be read by the scan pool')
  return body
}

const medianMs = async (repeats: number, read: () => Promise<BodySource>): Promise<number> => {
  const times: number[] = []
  for (let nth = 0; nth < repeats; nth++) {
    const from = performance.now()
    const source = await read()
    // The page is done when its source is there: what follows is HTTP's part, copies out of the
    // native buffer.
    times.push(performance.now() - from)
    await readAll(source)
  }
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? NaN
}

/**
 * The page reads of the HTTP bench as native calls: what `src/rpc` makes of
 * them.
 */
const nativePages = (expected: ExpectedState, reads: Reads, page: Page, changeBlocks: number) => {
  const { set } = expected
  const ofProgram = (
    program: Uint8Array,
    filters: readonly Filter[],
    changedSinceSlot: number | undefined = undefined,
  ) => {
    return () => sourceOf(reads.programPage({ ...page, program, filters, changedSinceSlot }))
  }
  const wallet = walletPubkey(set, 0)
  return [
    ofProgram(TOKEN_PROGRAM, [{ dataSize: 165 }]),
    ofProgram(TOKEN_PROGRAM, [{ offset: 0, bytes: mintPubkey(set, 0) }]),
    ofProgram(TOKEN_PROGRAM, [{ offset: 32, bytes: wallet }]),
    ofProgram(TOKEN_PROGRAM, [], expected.slotOfChange(changeBlocks - 1)),
    ofProgram(poolProgram(set), []),
    ofProgram(poolProgram(set), [{ offset: 0, bytes: discriminator(set, 0) }]),
    () => sourceOf(reads.ownerPage({ ...page, wallet, filter: { tokenProgram: 1 } })),
  ]
}

const textOf = (reply: unknown): string => {
  assert(reply instanceof Uint8Array)
  return Buffer.from(reply).toString()
}

/** Times point reads over accounts that are spread over the store. */
const timePoints = async (expected: ExpectedState, reads: Reads, ms: number) => {
  const indexes = sampleTokens(expected.set, 4_096)
  const keys = indexes.map(index => tokenPubkey(expected.set, index))
  const bodies = keys.map(key =>
    Buffer.from(callBody('getAccountInfo', [bs58.encode(key), { encoding: 'base64' }])),
  )
  const hundred = Buffer.concat(keys.slice(0, 100))
  const result = (index: number) => ({
    context: { slot: expected.slot },
    value: accountValue(expected.token(index)),
  })
  for (const [nth, index] of indexes.slice(0, 64).entries()) {
    const key = keys[nth] ?? Buffer.alloc(0)
    const plain = textOf(await reads.account(key, 'base64', undefined))
    assert.deepEqual(parseExactly(plain), result(index))
    checkReply('fast lane', textOf(reads.fast(bodies[nth] ?? key)?.bytes), result(index))
  }
  assert.deepEqual(parseExactly(textOf(await reads.accounts(hundred, 'base64', undefined))), {
    context: { slot: expected.slot },
    value: indexes.slice(0, 100).map(index => accountValue(expected.token(index))),
  })

  let nth = 0
  const next = <T>(list: readonly T[]): T => {
    const item = list[nth++ % list.length]
    if (item === undefined) throw new Error('an empty list')
    return item
  }
  const bench = new Bench({ time: ms, warmupTime: ms / 4 })
    .add('account', () => reads.account(next(keys), 'base64', undefined))
    .add('account, jsonParsed', () => reads.account(next(keys), 'jsonParsed', undefined))
    .add('fast lane', () => reads.fast(next(bodies)))
    .add('100 accounts', () => reads.accounts(hundred, 'base64', undefined))
    .add('latest blockhash', () => reads.latestBlockhash('finalized'))
  await bench.run()
  return Object.fromEntries(
    bench.tasks.map(task => {
      if (task.result.state !== 'completed') throw new Error(`${task.name}: ${task.result.state}`)
      return [task.name, task.result.latency.p50 * 1000]
    }),
  )
}

onStart<Start, Measured>(async ({ dir, set, history, pageLimit, repeats, pointMs }) => {
  const expected = createExpectedState(set, history)
  const reader = openReader(dir, STORE_OPTIONS, POOL_OPTIONS)
  const reads = reader.reads(READ_LIMITS)
  const page: Page = {
    encoding: 'base64',
    dataSlice: undefined,
    limit: pageLimit,
    after: undefined,
  }

  const pageMs: Record<string, number> = {}
  const wanted = pageReads(expected, pageLimit, history.changeBlocks)
  for (const [nth, read] of nativePages(expected, reads, page, history.changeBlocks).entries()) {
    const { name, result } = wanted[nth] ?? { name: '?', result: () => undefined }
    const text = (await readAll(await read())).toString()
    assert.deepEqual(parseExactly(text), result(), `page of ${name}: wrong answer`)
    pageMs[name] = await medianMs(repeats, read)
  }

  // No account has these eight bytes as its amount: every account is compared, none matches.
  const filters = [{ offset: 64, bytes: Buffer.from('no match') }]
  const query = { ...page, program: TOKEN_PROGRAM, filters, changedSinceSlot: undefined }
  const scan = () => sourceOf(reads.programPage(query))
  const nothing = { accounts: [], count: 0, paginationKey: null }
  assert.deepEqual(JSON.parse((await readAll(await scan())).toString()), nothing)
  const scanMs = await medianMs(repeats, scan)

  const pointMicros = await timePoints(expected, reads, pointMs)
  reader.close()
  return {
    pageMs,
    scanMicrosPerAccount: (scanMs * 1000) / (set.tokenAccountCount + set.mintCount),
    pointMicros,
  }
})
