import t from 'tap'
import { startGeyser } from '../../fixtures/sandbox/geyser.js'
import { key, openDeshred, openFeed, PROCESSED } from '../../fixtures/sandbox/sandbox.js'

t.test('a transaction is as the one that is processed', async t => {
  const { chain, geyserUrl } = await startGeyser(t)
  const early = openDeshred(geyserUrl)
  const feed = openFeed(geyserUrl)
  t.teardown(() => [early, feed].forEach(one => one.close()))
  early.ask({ deshredTransactions: { d: {} } })
  early.ask({ ping: { id: 3 } })
  await early.until(({ pong }) => pong?.id === 3)
  feed.ask({ transactions: { t: {} }, commitment: PROCESSED })
  feed.ask({ ping: { id: 4 } })
  await feed.until(({ pong }) => pong?.id === 4)
  const { signature } = chain.airdrop(key('early').publicKey, 10_000_000n)
  const [sent] = await early.until(({ deshredTransaction }) => deshredTransaction !== undefined)
  const updates = await feed.until(({ transaction }) => transaction !== undefined)
  const processed = updates.at(-1)?.transaction
  t.strictSame(
    [sent?.deshredTransaction?.transaction?.signature, processed?.transaction?.signature].map(one =>
      Buffer.from(one ?? []).toString('hex'),
    ),
    [signature, signature].map(one => Buffer.from(one).toString('hex')),
  )
  t.strictSame(
    sent?.deshredTransaction?.transaction?.transaction,
    processed?.transaction?.transaction,
  )
  t.equal(sent?.deshredTransaction?.slot, String(chain.slot))
})

t.test('slots pass by their filters, and a wrong request ends the stream', async t => {
  const { chain, geyserUrl } = await startGeyser(t)
  const early = openDeshred(geyserUrl)
  t.teardown(() => early.close())
  early.ask({ slots: { levels: {}, between: { interslotUpdates: true } } })
  early.ask({ ping: { id: 3 } })
  await early.until(({ pong }) => pong?.id === 3)
  chain.tick()
  const updates = await early.until(({ slot }) => Number(slot?.status) === 3)
  const all = updates.flatMap(({ filters, slot }) => [`${slot?.status} ${filters.join(' ')}`])
  t.match(all[0], '0 levels between')
  t.equal(all.at(-1), '3 between')
  early.ask({ deshredTransactions: { d: { accountInclude: ['x'] } } })
  t.match(await early.ended(), { code: 3, details: /^failed to create filter/ })
})
