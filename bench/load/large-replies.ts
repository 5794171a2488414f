// Large replies over HTTP: lists of accounts and pages of both sizes against a bare server that
// sends the same bytes, and beside a bystander that reads single accounts; then the largest page
// through each index.
import bs58 from 'bs58'
import { recordExchanges, type CheckedCall } from '../data/record-exchanges.js'
import { runJob, startChild } from '../child.js'
import type { Exchange, Target } from '../load-generators/connection.js'
import type { Download, DownloadResult } from '../load-generators/download.js'
import type { Context } from '../context.js'
import { sampleTokens, tokenPubkey } from '../data/data.js'
import { PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX } from '../options.js'
import { pageReads } from '../data/pages.js'
import { accountValue } from '../data/reference.js'
import type * as bare from '../peers/bare.js'
import { median } from '../report/report.js'
import { measureBystander } from './bystander.js'

/** Targets of docs/performance.md. */
const OF_BARE = 0.7
const OF_IDLE = 2

/** As many connections as keep an edge's pools busy and its event loop, too. */
const CONNECTIONS = 4
/** Addresses of one request. */
const LIST_LENGTHS = [100, 1_000]
const LISTS = 32
/** Of the bystander: an outside client that is far from any limit. */
const BYSTANDER_PER_SECOND = 300

type Kind = { readonly name: string; readonly calls: readonly CheckedCall[] }

const listsOf = ({ expected }: Context, length: number): Kind => {
  const name = `getMultipleAccounts of ${length}`
  const indexes = sampleTokens(expected.set, length * LISTS)
  const calls = Array.from({ length: LISTS }, (_, nth) => {
    // Every 32nd, so that a list, too, is spread over the store.
    const list = indexes.filter((_, position) => position % LISTS === nth)
    return {
      name,
      method: 'getMultipleAccounts',
      params: [
        list.map(index => bs58.encode(tokenPubkey(expected.set, index))),
        { encoding: 'base64' },
      ],
      result: {
        context: { slot: expected.slot },
        value: list.map(index => accountValue(expected.token(index))),
      },
    }
  })
  return { name, calls }
}

/** A page through each index. */
const pagesOf = ({ expected, plan }: Context, limit: number): Kind[] =>
  pageReads(expected, limit, plan.history.changeBlocks).map(({ name, method, params, result }) => ({
    name: `page of ${limit}, ${name}`,
    calls: [{ name, method, params, result: result() }],
  }))

const download = async (
  { plan }: Context,
  name: string,
  target: Target,
  exchanges: readonly Exchange[],
): Promise<DownloadResult> => {
  const downloaded = await runJob<Download, DownloadResult>('load-generators/download.js', {
    target,
    exchanges,
    connectionCount: CONNECTIONS,
    warmMs: plan.warmMs,
    durationMs: plan.downloadMs,
    isBackground: false,
  })
  if (downloaded.failures > 0) throw new Error(`${name}: ${downloaded.failures} wrong answers`)
  return downloaded
}

const reportDownloads = (
  { report }: Context,
  name: string,
  rounds: readonly DownloadResult[],
): void => {
  const of = (key: keyof DownloadResult): number => median(rounds.map(result => result[key]))
  report({
    name,
    value: of('repliesPerSecond'),
    unit: 'replies/s',
    better: 'higher',
    detail:
      `${Math.round(of('megabytesPerSecond'))} MB/s, ` +
      `p50 ${of('p50').toFixed(1)} ms, p99 ${of('p99').toFixed(1)} ms`,
  })
}

/** Replies a second, the edge and a bare server in turn. */
const compare = async (
  context: Context,
  { name }: Kind,
  exchanges: readonly Exchange[],
): Promise<void> => {
  const { edge, plan, report } = context
  const reply = exchanges[0]?.reply ?? ''
  const peer = await startChild<bare.Start, bare.Listening>('peers/bare.js', { reply })
  // The replies to lists of one length differ by a few bytes at most.
  const sameReply = exchanges.map(({ body }) => ({ body, reply }))
  const ours: DownloadResult[] = []
  const theirs: DownloadResult[] = []
  try {
    for (let round = 0; round < plan.rounds; round++) {
      ours.push(await download(context, name, edge.target, exchanges))
      const bareTarget = { port: peer.answer.port, path: edge.target.path }
      theirs.push(await download(context, `${name}, bare`, bareTarget, sameReply))
    }
  } finally {
    await peer.stop()
  }
  reportDownloads(context, name, ours)
  report({
    name: `${name}, edge / bare`,
    value: median(
      ours.map((one, nth) => one.repliesPerSecond / (theirs[nth]?.repliesPerSecond ?? NaN)),
    ),
    unit: '×',
    better: 'higher',
    target: OF_BARE,
  })
}

/** Latency of single accounts beside a client that pulls these replies without pause. */
const reportBystander = async (
  context: Context,
  { name }: Kind,
  exchanges: readonly Exchange[],
): Promise<void> => {
  const rounds = await measureBystander(context, exchanges, BYSTANDER_PER_SECOND)
  const of = (state: 'idle' | 'beside', key: 'p50' | 'p999'): string =>
    median(rounds.map(round => round[state][key])).toFixed(2)
  context.report({
    name: `${name}, p99.9 of a bystander / idle`,
    value: median(rounds.map(({ idle, beside }) => beside.p999 / idle.p999)),
    unit: '×',
    better: 'lower',
    target: OF_IDLE,
    isTail: true,
  })
  context.note(
    `a bystander's p50 ${of('idle', 'p50')} ms idle and ${of('beside', 'p50')} ms beside it, ` +
      `p99.9 ${of('idle', 'p999')} and ${of('beside', 'p999')} ms`,
  )
}

/** Large replies per second, for clients that pull without pause. */
export const benchLargeReplies = async (context: Context): Promise<void> => {
  const { edge, note } = context
  const [largestPage, ...otherPages] = pagesOf(context, PAGE_LIMIT_MAX)
  const lists = LIST_LENGTHS.map(length => listsOf(context, length))
  const pages = [...pagesOf(context, PAGE_LIMIT_DEFAULT).slice(0, 1), largestPage]
  note(
    `${CONNECTIONS} connections, each with one request in flight, against a bare server in turn; ` +
      `one connection beside a bystander with ${BYSTANDER_PER_SECOND} requests/s`,
  )
  for (const kind of [...lists, ...pages]) {
    if (kind === undefined) throw new Error('there is no page to download')
    const exchanges = await recordExchanges(edge.target, kind.calls)
    await compare(context, kind, exchanges)
    await reportBystander(context, kind, exchanges)
  }
  for (const { name, calls } of otherPages) {
    const exchanges = await recordExchanges(edge.target, calls)
    reportDownloads(context, name, [await download(context, name, edge.target, exchanges)])
  }
}
