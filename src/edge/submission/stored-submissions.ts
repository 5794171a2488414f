import type { EdgeConfig } from '../../config/child-config.js'
import type { SubmissionReads } from '../../rpc/method.js'
import { LoopTurn } from '../../shared/event-loop/loop-turn.js'
import type { Log } from '../../shared/log.js'
import type { FollowSubmissions } from '../../shared/socket.js'
import { SubmissionFeed } from '../../submission/queries/feed.js'
import type { PerformanceQuery } from '../../submission/queries/filters.js'
import { SubmissionQueries, type QueryParts } from '../../submission/queries/queries.js'
import { StoreReader } from '../../submission/store/store-reader.js'
import { groupsOf, toLane } from '../../usage/performance.js'
import { HOUR_MS } from '../../usage/scope.js'
import { openUsageReader, type AskOwn } from '../../usage/store.js'

/** Followers are sent pages, and lanes are summed, for so long in one turn of the event loop. */
const TURN_MS = 1

type Network = EdgeConfig['networks'][number]

/** What accesses have submitted, to read and to follow at one edge. */
export class StoredSubmissions {
  /** Looks a submission up at the sender, which asks other machines; set once there is one. */
  findElsewhere: QueryParts['findElsewhere'] = async () => undefined
  private readonly config: Pick<EdgeConfig, 'dataDir' | 'submissionStore'>
  /** Opened on first use: it has a thread. */
  private usage: AskOwn | undefined
  private readonly turn = new LoopTurn(TURN_MS, () => performance.now())
  private readonly reader: StoreReader
  private readonly feed: SubmissionFeed

  constructor(config: Pick<EdgeConfig, 'dataDir' | 'submissionStore'>, log: Log) {
    this.config = config
    this.reader = new StoreReader(config.dataDir, config.submissionStore)
    this.feed = new SubmissionFeed({
      reader: this.reader,
      turn: new LoopTurn(TURN_MS, () => performance.now()),
      onFault: err => log.error({ err }, 'submissions cannot be followed'),
    })
  }

  /** Of one network; undefined where nothing can be submitted to it. */
  of({
    id: network,
    lander,
    lanes,
    relay,
    relayBundle,
  }: Network):
    { readonly queries: SubmissionReads; readonly follow: FollowSubmissions } | undefined {
    const sections = [lander, lanes[0], relay, relayBundle]
    if (sections.every(section => section === undefined)) return undefined
    const queries = new SubmissionQueries({
      network,
      reader: this.reader,
      options: this.config.submissionStore,
      now: Date.now,
      findElsewhere: query => this.findElsewhere(query),
      lanes: (accessId, query) => this.lanes(accessId, network, query),
    })
    return { queries, follow: this.feed.follow(network) }
  }

  private async lanes(
    accessId: string,
    network: string,
    { from, isByHour, lane: wanted = '', until }: PerformanceQuery,
  ): Promise<string> {
    this.usage ??= openUsageReader(this.config.dataDir)
    const parameters = [accessId, network, wanted, from, until, Number(isByHour)]
    const rows = await this.usage('lanes', parameters)
    const fromMs = from * HOUR_MS
    const lanes: string[] = []
    for (const group of groupsOf(rows)) {
      if (this.turn.isOver) await this.turn.next()
      const { network: _network, startMs, ...lane } = toLane(group)
      lanes.push(JSON.stringify({ ...lane, startMs: isByHour ? startMs : fromMs }))
    }
    return `{"fromMs":${fromMs},"untilMs":${until * HOUR_MS},"lanes":[${lanes.join()}]}`
  }

  onTold(accessIds: readonly string[] | undefined): void {
    this.feed.onTold(accessIds)
  }

  close(): Promise<void> {
    return this.reader.close()
  }
}
