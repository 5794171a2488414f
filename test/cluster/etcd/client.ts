import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createSecureServer } from 'node:http2'
import { join } from 'node:path'
import t from 'tap'
import { CompactedError, Etcd, EtcdError } from '../../../src/cluster/etcd/client.js'
import { makeCertificates, openEtcd, withoutEtcd } from '../../fixtures/cluster/etcd.js'
import { ownDir } from '../../fixtures/own-dir.js'
import { until } from '../../fixtures/until.js'

t.test('keys, transactions and watches of a real etcd', { skip: withoutEtcd }, async t => {
  const { connect, kill, members, start, untilServing } = await openEtcd(t)
  const etcd = await connect('root')
  t.teardown(() => etcd.close())
  const put = (key: string, value: string) => etcd.transact([], [{ put: key, value }])

  t.equal((await etcd.get('/a/1')).found, undefined)
  const first = await put('/a/1', 'one')
  const { found } = await etcd.get('/a/1')
  t.match(found, { key: '/a/1', modRevision: first.revision, createRevision: first.revision })
  t.equal(found?.value.toString(), 'one')

  const swap = (modRevision: number) =>
    etcd.transact(
      [{ key: '/a/1', modRevision }],
      [{ put: '/a/1', value: 'two' }],
      [{ get: '/a/1' }],
    )
  const swapped = await swap(first.revision)
  t.ok(swapped.isDone)
  const again = await swap(first.revision)
  t.notOk(again.isDone)
  t.equal(again.found[0]?.modRevision, swapped.revision, 'what is there instead')
  t.ok((await etcd.transact([{ key: '/a/2', createRevision: 0 }], [])).isDone, 'an absent key')
  t.notOk((await etcd.transact([{ key: '/a/1', value: 'one' }], [])).isDone)

  for (let count = 10; count < 35; count++) await put(`/b/${count}`, String(count))
  await put('/b', 'no part of it')
  await put('/c/1', 'nor this')
  const { found: all, revision } = await etcd.list('/b/', { limit: 7 })
  t.strictSame(
    all.map(({ value }) => Number(value.toString())),
    Array.from({ length: 25 }, (_, index) => index + 10),
  )
  await put('/b/99', 'later')
  const earlier = await etcd.list('/b/', { limit: 100, atRevision: revision })
  t.equal(earlier.found.length, 25, 'as of an earlier revision')
  t.equal(await etcd.prove('/b/'), revision + 1)

  const seen: string[] = []
  const watching = new AbortController()
  for await (const events of etcd.watch('/a/', first.revision, watching.signal)) {
    for (const { value, modRevision } of events) seen.push(`${value.toString()} ${modRevision}`)
    if (seen.length === 2) watching.abort()
  }
  t.strictSame(seen, [`one ${first.revision}`, `two ${swapped.revision}`])

  await etcd.compact(revision)
  await t.rejects(
    etcd.watch('/a/', first.revision, new AbortController().signal).next(),
    CompactedError,
  )

  await kill(0)
  await t.rejects(etcd.get('/a/1'), EtcdError)
  // It may have been the leader: then the others elect one first.
  const isFound = async (): Promise<boolean> => (await etcd.get('/a/1')).found !== undefined
  await until('the next member is asked', () => isFound().catch(() => false))
  await kill(1)
  await t.rejects(put('/a/3', 'x'), EtcdError, 'without a majority nothing is changed')
  start(0)
  start(1)
  await untilServing()
  t.equal(members.length, 3)
})

t.test('a member at an address is called if that is in its certificate', async t => {
  const dir = ownDir(t)
  makeCertificates(dir)
  const read = (name: string): Buffer => readFileSync(join(dir, name))
  const ca = read('ca.pem')
  const identity = { ca, cert: read('root.pem'), key: read('root.key') }
  for (const [name, isCalled] of [
    ['etcd', true],
    // Of the same authority, for the name of another server.
    ['fra-1', false],
  ] as const) {
    const own = { cert: read(`${name}.pem`), key: read(`${name}.key`) }
    const server = createSecureServer({ ca, ...own, requestCert: true })
    let calls = 0
    server.on('stream', stream => {
      calls++
      stream.close()
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    const port = typeof address === 'object' ? address?.port : 0
    const etcd = new Etcd({ endpoints: [`https://127.0.0.1:${port}`], identity, callMs: 1_000 })
    await t.rejects(etcd.get('/'), EtcdError)
    t.equal(calls > 0, isCalled, name)
    etcd.close()
    server.close()
  }
})
