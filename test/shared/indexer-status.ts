import t from 'tap'
import { shownPlace } from '../../src/shared/indexer-status.js'

t.test('a place is shown without what may be a secret', t => {
  const cases: [place: string, shown: string][] = [
    ['/data/snapshot-1-abc.tar.zst', '/data/snapshot-1-abc.tar.zst'],
    ['https://key:word@rpc.example:8899/4711?api-key=1', 'https://rpc.example:8899'],
    ['https://x.example/snapshot.tar.bz2', 'https://x.example/snapshot.tar.bz2'],
    [
      'https://x.example/k3y/snapshot-9-abc.tar.zst?t=1',
      'https://x.example/…/snapshot-9-abc.tar.zst',
    ],
    ['http://', '(not a URL)'],
  ]
  for (const [place, shown] of cases) t.equal(shownPlace(place), shown)
  t.end()
})
