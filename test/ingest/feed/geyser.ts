import { readFileSync } from 'node:fs'
import t from 'tap'
import {
  defaults,
  type GeyserEvent,
  type GeyserIndexer,
  startGeyser,
} from '../../../src/ingest/feed/geyser.js'
import type { CommittedBlock, FeedHealth, FeedLine } from '../../../src/ingest/feed/source.js'
import { repositoryPath } from '../../fixtures/repository.js'

const silent: GeyserEvent = {
  kind: '',
  text: '',
  cause: '',
  blockHeight: 0,
  accounts: 0,
  applyMicros: 0,
  bufferedBytes: 0,
  hasFooters: false,
  isByBank: false,
  dropped: 0,
  retryInMs: 0,
}

const open = () => {
  const reported: (
    CommittedBlock | FeedHealth | FeedLine | { interrupted: string } | { footers: boolean }
  )[] = []
  const given: unknown[] = []
  let hear: (event: GeyserEvent) => void = () => t.fail('not started')
  const indexer: GeyserIndexer = {
    startFeed: (options, onEvent) => {
      given.push(options)
      hear = onEvent
    },
    stopFeed: () => given.push('stopped'),
  }
  const options = { ...defaults, endpoint: 'http://127.0.0.1:1', xToken: 's3cret' }
  const push = (item: CommittedBlock | FeedHealth | FeedLine) => reported.push(item)
  const interrupted = (reason: string) => reported.push({ interrupted: reason })
  const footers = (areRequested: boolean) => reported.push({ footers: areRequested })
  const on = { committed: push, health: push, log: push, interrupted, footers }
  const source = startGeyser(indexer, options, on)
  return {
    source,
    reported,
    given,
    options,
    hear: (event: Partial<GeyserEvent>) => hear({ ...silent, ...event }),
  }
}

const cases: [name: string, event: Partial<GeyserEvent>, expected: object[]][] = [
  [
    'a block',
    {
      kind: 'committed',
      slot: 9,
      blockHeight: 7,
      accounts: 3,
      applyMicros: 5,
      feedLagMs: 4,
      bufferedBytes: 2,
      isByBank: true,
      dropped: 6,
    },
    [
      { level: 'info', text: 'blocks are assembled by slot and bank' },
      {
        slot: 9,
        blockHeight: 7,
        accountCount: 3,
        applyMicros: 5,
        lagMs: 4,
        bufferedBytes: 2,
        isByBank: true,
        droppedCount: 6,
      },
    ],
  ],
  [
    'a block without the server’s stamp',
    { kind: 'committed', slot: 9, feedLagMs: null },
    [
      {
        level: 'info',
        text: 'blocks are assembled by slot: the server does not number banks',
      },
      {
        slot: 9,
        blockHeight: 0,
        accountCount: 0,
        applyMicros: 0,
        lagMs: undefined,
        bufferedBytes: 0,
        isByBank: false,
        droppedCount: 0,
      },
    ],
  ],
  [
    'connected at a slot',
    { kind: 'connected', slot: 0, hasFooters: true },
    [{ footers: true }, { level: 'info', text: 'feed connected from slot 0' }],
  ],
  [
    'connected at the head',
    { kind: 'connected' },
    [{ footers: false }, { level: 'info', text: 'feed connected from the live head' }],
  ],
  [
    'a server that refuses block footers',
    { kind: 'footersRefused', text: 'no such filter' },
    [
      {
        level: 'warn',
        text: 'feed connects without block footers, which its server may not allow: no such filter',
      },
    ],
  ],
  [
    'the server',
    { kind: 'server', text: 'richat 9.0.0' },
    [{ level: 'info', text: "the feed's server is richat 9.0.0" }],
  ],
  [
    'a server that loses updates',
    { kind: 'serverLosesUpdates', text: 'yellowstone-grpc-geyser 14.2.1' },
    [
      {
        level: 'error',
        text: "the feed's server is yellowstone-grpc-geyser 14.2.1, which loses account updates: ask for yellowstone-grpc-geyser 14.2.2 or later",
      },
    ],
  ],
  [
    'disconnected',
    { kind: 'disconnected', text: 'gone', retryInMs: 500 },
    [
      { level: 'warn', text: 'feed disconnected, next try in 500 ms: gone' },
      { interrupted: 'gone' },
    ],
  ],
  [
    'a gap',
    { kind: 'gap', text: 'gap after slot 3: …' },
    [{ level: 'warn', text: 'gap after slot 3: …' }],
  ],
  [
    'unhealthy',
    { kind: 'unhealthy', text: 'gap after slot 3: …', cause: 'gap' },
    [
      { level: 'error', text: 'feed unhealthy: gap after slot 3: …' },
      { isHealthy: false, reason: 'gap after slot 3: …', cause: 'gap' },
    ],
  ],
  ['healthy', { kind: 'healthy' }, [{ level: 'info', text: 'feed healthy' }, { isHealthy: true }]],
  [
    'a kind of a newer addon',
    { kind: 'paused', text: 'x' },
    [{ level: 'warn', text: 'feed paused: x' }],
  ],
]
for (const [name, event, expected] of cases)
  t.test(name, async t => {
    const { reported, hear } = open()
    hear(event)
    t.strictSame(reported, expected)
  })

t.test('health starts false, follows the events, and can be queried', async t => {
  const { source, hear } = open()
  t.equal(source.health().isHealthy, false)
  hear({ kind: 'healthy' })
  t.strictSame(source.health(), { isHealthy: true })
  hear({ kind: 'disconnected', text: 'gone' })
  t.strictSame(source.health(), { isHealthy: true }, 'one lost connection is no gap')
  hear({ kind: 'unhealthy', text: 'stopped permanently', cause: 'stalled' })
  t.strictSame(source.health(), {
    isHealthy: false,
    reason: 'stopped permanently',
    cause: 'stalled',
  })
})

t.test('the reader gets every option and stops', async t => {
  const { source, given, options } = open()
  source.stop()
  t.strictSame(given, [options, 'stopped'])
})

t.test('the native feed has the same defaults', async t => {
  const path = repositoryPath('native/ingest/src/geyser/config.rs')
  const [, body = ''] =
    /GeyserConfig \{\n(\s+endpoint: String::new[^}]*)\}/.exec(readFileSync(path, 'utf8')) ?? []
  const numberOf = (text: string): number => {
    const [value = '', shift = '0'] = text.replaceAll('_', '').split(' << ')
    return Number(value) * 2 ** Number(shift)
  }
  const numbers = [...body.matchAll(/(\w+): (\d[\d_]*(?: << \d+)?),/g)].map(
    ([, name = '', text = '']) => [
      name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
      numberOf(text),
    ],
  )
  const ours = Object.entries(defaults).filter(([, value]) => typeof value === 'number')
  t.strictSame(Object.fromEntries(numbers), Object.fromEntries(ours))
})
