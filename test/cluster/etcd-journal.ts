import { randomBytes } from 'node:crypto'
import { status } from '@grpc/grpc-js'
import t, { type Test } from 'tap'
import type { JournalEntry } from '../../src/access/journal/access-journal.js'
import type { AccessDocument } from '../../src/access/store/tables.js'
import { EtcdJournal } from '../../src/cluster/etcd-journal.js'
import { EtcdError, type Etcd } from '../../src/cluster/etcd/client.js'
import { BROKEN, keysOf } from '../../src/cluster/keys.js'
import { defaults } from '../../src/cluster/options.js'
import { bootMs } from '../../src/native/os.js'
import { RpcError } from '../../src/shared/errors.js'
import { LIMITS, NEW_ACCESS, NOW_MS } from '../fixtures/access/access.js'
import { openEtcd, withoutEtcd } from '../fixtures/cluster/etcd.js'

const keys = keysOf('s1')
const options = { ...defaults, retryMs: 1 }

const ACCESS: AccessDocument = {
  ...NEW_ACCESS,
  accessId: 'acc_1',
  label: '',
  networks: ['main'],
  locations: [],
  limits: LIMITS,
  createdAtMs: NOW_MS,
  endedAtMs: null,
  tokens: [],
  formerTokens: [],
  webhooks: [],
}

const openLog = async (t: Test) => {
  const { connect } = await openEtcd(t, 1)
  const etcd = await connect('root')
  t.teardown(() => etcd.close())
  await etcd.transact([], [{ put: keys.epoch, value: 'e1' }])
  const journalOver = (client: Etcd): EtcdJournal =>
    new EtcdJournal({ etcd: client, keys, epoch: () => 'e1', options, randomBytes, bootMs })
  return { etcd, journalOver }
}

/** Adds a location to the access. */
const add = (location: string) => ({
  accessId: 'acc_1',
  update: (current = ACCESS): AccessDocument => ({
    ...current,
    locations: [...current.locations, location],
  }),
})

const take = async (
  journal: EtcdJournal,
  after: number,
  count: number,
): Promise<JournalEntry[]> => {
  const entries: JournalEntry[] = []
  const following = new AbortController()
  for await (const entry of journal.follow(after, following.signal))
    if (entries.push(entry) === count) following.abort()
  return entries
}

t.test('the journal of a cluster', { skip: withoutEtcd }, async t => {
  const { etcd, journalOver } = await openLog(t)
  const journal = journalOver(etcd)

  await t.test('no change is lost where several are made at once', async t => {
    const journals = [journal, journalOver(etcd)]
    const names = Array.from({ length: 10 }, (_, index) => `l${index}`)
    // More than one access can be tried again, so each adds one after the other.
    const loops = journals.map(async (one, at) => {
      for (const name of names) await one.propose(add(`${name}-${at}`))
    })
    await Promise.all(loops)
    const { found } = await etcd.get(keys.access('acc_1'))
    const [last] = await take(journal, 0, 1)
    t.equal(last?.accesses[0]?.locations.length, 20)
    t.equal(last?.accesses[0]?.revision, found?.modRevision)
    t.equal(Math.max(...journals.map(one => one.known.revision)), found?.modRevision)
  })

  await t.test('a change whose answer is lost is made once', async t => {
    let lost = 0
    const losing: Etcd = Object.create(etcd, {
      transact: {
        value: async (...args: Parameters<Etcd['transact']>) => {
          const answer = await etcd.transact(...args)
          if (lost++ === 0) throw new EtcdError(status.UNAVAILABLE, 'lost')
          return answer
        },
      },
    })
    const changed = await journalOver(losing).propose(add('lost'))
    t.equal(lost, 1, 'it was not made again')
    t.equal(changed.locations.filter(location => location === 'lost').length, 1)
    const { found } = await etcd.get(keys.access('acc_1'))
    t.equal(changed.revision, found?.modRevision)
  })

  await t.test('what a refused change has found is known', async t => {
    const made = await journal.propose(add('found'))
    const other = journalOver(etcd)
    t.equal(other.known.revision, 0)
    const update = (): never => {
      throw new RpcError('noToken')
    }
    await t.rejects(other.propose({ accessId: 'acc_1', update }), { name: 'noToken' })
    t.equal(other.known.revision, made.revision)
  })

  await t.test('a change that others always precede is not made', async t => {
    let count = 0
    const slow: Etcd = Object.create(etcd, {
      get: {
        value: async (key: string) => {
          const answer = await etcd.get(key)
          await journal.propose(add(`first-${count++}`))
          return answer
        },
      },
    })
    await t.rejects(journalOver(slow).propose(add('late')), { name: 'accessBusy' })
    t.equal(count, options.attemptsMax)
    const { locations } = await journal.propose(add('last'))
    t.notOk(locations.includes('late'))
    t.ok(locations.includes('first-0'), 'the others were')
  })

  await t.test('without an answer the outcome is unknown, and a refusal is no change', async t => {
    const failing: Etcd = Object.create(etcd, {
      get: { value: () => Promise.reject(new EtcdError(status.UNAVAILABLE, 'no')) },
    })
    await t.rejects(journalOver(failing).propose(add('x')), { name: 'etcdSilent' })
    const mute: Etcd = Object.create(etcd, {
      transact: { value: () => Promise.reject(new EtcdError(status.UNAVAILABLE, 'no')) },
    })
    await t.rejects(journalOver(mute).propose(add('x')), { name: 'changeUnknown' })
    const denying: Etcd = Object.create(etcd, {
      get: { value: () => Promise.reject(new EtcdError(status.PERMISSION_DENIED, 'no')) },
    })
    await t.rejects(journalOver(denying).propose(add('x')), { name: 'changeDenied' })
    const failure = new Error('refused')
    const refused = {
      accessId: 'acc_1',
      update: () => {
        throw failure
      },
    }
    await t.rejects(journal.propose(refused), failure)
    const long = Array.from({ length: 40_000 }, () => 'a-location-of-thirty-two-letters')
    const tooLong = { accessId: 'acc_2', update: () => ({ ...ACCESS, locations: long }) }
    await t.rejects(journal.propose(tooLong), { name: 'accessTooLong' })
  })

  await t.test('changes of another cluster or epoch are refused', async t => {
    const other = new EtcdJournal({ etcd, keys, epoch: () => 'e2', options, randomBytes, bootMs })
    await t.rejects(other.propose(add('x')), { name: 'notInCluster' })
  })

  await t.test('a broken cluster says so, unless an attempt may have been made', async t => {
    const setEpoch = (value: string) => etcd.transact([], [{ put: keys.epoch, value }])
    /** The first attempt has no answer; then the cluster breaks. */
    const breaking = (first: (...args: Parameters<Etcd['transact']>) => Promise<unknown>): Etcd => {
      let count = 0
      return Object.create(etcd, {
        transact: {
          value: async (...args: Parameters<Etcd['transact']>) => {
            if (count++ > 0) return etcd.transact(...args)
            await first(...args)
            await setEpoch(BROKEN)
            throw new EtcdError(status.UNAVAILABLE, 'lost')
          },
        },
      })
    }
    const cases: [name: string, first: Parameters<typeof breaking>[0], outcome: string][] = [
      ['not made', async () => {}, 'clusterBroken'],
      ['made', (...args) => etcd.transact(...args), ''],
      [
        'made or not, and replaced',
        async () => {
          const value = (await etcd.get(keys.access('acc_1'))).found?.value ?? ''
          await etcd.transact([], [{ put: keys.access('acc_1'), value }])
        },
        'changeUnknown',
      ],
    ]
    for (const [name, first, outcome] of cases) {
      await setEpoch('e1')
      const found = await journalOver(breaking(first))
        .propose(add(name))
        .then(
          () => '',
          (error: Error) => error.name,
        )
      t.equal(found, outcome, name)
    }
    await t.rejects(journal.propose(add('later')), { name: 'clusterBroken' })
    await setEpoch('e1')
    const { locations } = await journal.propose(add('last'))
    t.ok(locations.includes('made'))
    for (const name of ['not made', 'later']) t.notOk(locations.includes(name), name)
  })

  await t.test('entries follow each other, whatever else is in the cluster', async t => {
    const start = await journal.prove()
    const first = await journal.propose(add('a'))
    const beat = await etcd.transact([], [{ put: keys.beat('m'), value: '{}' }])
    const second = await journal.propose(add('b'))
    const entries = await take(journal, start, 3)
    t.strictSame(
      entries.map(({ revision, accesses }) => [revision, accesses.length]),
      [
        [first.revision, 1],
        [beat.revision, 0],
        [second.revision, 1],
      ],
    )
    t.match(entries[2]?.accesses, [{ changeId: second.changeId, revision: second.revision }])
    await etcd.compact(second.revision)
    const [whole] = await take(journal, start, 1)
    t.match(whole, { isWhole: true }, 'what was compacted is read whole')
    t.ok((whole?.revision ?? 0) >= second.revision)
  })
})
