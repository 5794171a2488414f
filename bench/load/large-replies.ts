// Large replies over HTTP: lists of a hundred accounts, pages of both sizes through each index.
import bs58 from 'bs58'
import { recordExchanges, type CheckedCall } from '../data/record-exchanges.js'
import { runJob } from '../child.js'
import type { Exchange } from '../load-generators/connection.js'
import type { Download, DownloadResult } from '../load-generators/download.js'
import type { Context } from '../context.js'
import { sampleTokens, tokenPubkey } from '../data/data.js'
import { PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX } from '../options.js'
import { pageReads } from '../data/pages.js'
import { accountValue } from '../data/reference.js'

/** As many connections as keep an edge's pools busy and its event loop, too. */
const CONNECTIONS = 4
/** Addresses of one request. */
const LIST_LENGTH = 100
const LISTS = 32

const listQuestions = ({ expected }: Context): CheckedCall[] => {
  const indexes = sampleTokens(expected.set, LIST_LENGTH * LISTS)
  return Array.from({ length: LISTS }, (_, nth) => {
    // Every 32nd, so that a list, too, is spread over the store.
    const list = indexes.filter((_, position) => position % LISTS === nth)
    const keys = list.map(index => bs58.encode(tokenPubkey(expected.set, index)))
    return {
      name: `getMultipleAccounts of ${LIST_LENGTH}`,
      method: 'getMultipleAccounts',
      params: [keys, { encoding: 'base64' }],
      result: {
        context: { slot: expected.slot },
        value: list.map(index => accountValue(expected.token(index))),
      },
    }
  })
}

const pull = async (
  { edge, plan, report }: Context,
  name: string,
  exchanges: readonly Exchange[],
): Promise<void> => {
  const downloaded = await runJob<Download, DownloadResult>('load-generators/download.js', {
    target: edge.target,
    exchanges,
    connectionCount: CONNECTIONS,
    warmMs: plan.warmMs,
    durationMs: plan.downloadMs,
    isBackground: false,
  })
  if (downloaded.failures > 0) throw new Error(`${name}: ${downloaded.failures} wrong answers`)
  const [p50, p99] = [downloaded.p50, downloaded.p99].map(ms => ms.toFixed(1))
  report({
    name,
    value: downloaded.repliesPerSecond,
    unit: 'replies/s',
    better: 'higher',
    detail: `${Math.round(downloaded.megabytesPerSecond)} MB/s, p50 ${p50} ms, p99 ${p99} ms`,
  })
}

/** Large replies per second, for clients that pull without pause. */
export const benchLargeReplies = async (context: Context): Promise<void> => {
  const { edge, plan, expected, note } = context
  note(`${CONNECTIONS} connections, each with one request in flight`)
  const lists = await recordExchanges(edge.target, listQuestions(context))
  await pull(context, `getMultipleAccounts of ${LIST_LENGTH}`, lists)
  const pages = (limit: number) => pageReads(expected, limit, plan.history.changeBlocks)
  // The smaller page through one index, the largest through each.
  for (const [limit, reads] of [
    [PAGE_LIMIT_DEFAULT, pages(PAGE_LIMIT_DEFAULT).slice(0, 1)],
    [PAGE_LIMIT_MAX, pages(PAGE_LIMIT_MAX)],
  ] as const)
    for (const { name, method, params, result } of reads) {
      const exchanges = await recordExchanges(edge.target, [
        { name, method, params, result: result() },
      ])
      await pull(context, `page of ${limit}, ${name}`, exchanges)
    }
}
