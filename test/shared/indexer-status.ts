import t from 'tap'
import { printableLocation } from '../../src/shared/indexer-status.js'

t.test('a location is printed without its possible secrets', t => {
  const cases: [location: string, printed: string][] = [
    ['/data/snapshot-1-abc.tar.zst', '/data/snapshot-1-abc.tar.zst'],
    ['https://key:word@rpc.example:8899/4711?api-key=1', 'https://rpc.example:8899'],
    ['https://x.example/snapshot.tar.bz2', 'https://x.example/snapshot.tar.bz2'],
    [
      'https://x.example/k3y/snapshot-9-abc.tar.zst?t=1',
      'https://x.example/…/snapshot-9-abc.tar.zst',
    ],
    ['http://', '(not a URL)'],
  ]
  for (const [location, printed] of cases) t.equal(printableLocation(location), printed)
  t.end()
})
