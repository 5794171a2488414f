import t from 'tap'
import { defaults } from '../../src/rpc/options.js'
import { METHODS } from '../../src/rpc/registry.js'
import { applyAccounts, openStore } from '../fixtures/rpc/store.js'
import {
  ask,
  openDispatch,
  readVectors,
  VECTOR_SLOT,
  vectorMethods,
} from '../fixtures/rpc/vectors.js'
import { expandZstd } from '../fixtures/ingest/zstd.js'

t.test('every method of the registry has vectors', async t => {
  t.strictSame(vectorMethods().sort(), [...METHODS.keys()].sort())
})

for (const method of METHODS.keys())
  for (const { name, origin, accounts, root, transactions, request, reply } of readVectors(method))
    t.test(`${method}: ${name}`, async t => {
      const { indexer, reader } = openStore(t)
      applyAccounts(indexer, accounts, VECTOR_SLOT, root, transactions)
      t.strictSame(indexer.check(), [])
      for (const fastLane of [true, false]) {
        const dispatch = openDispatch(reader.reads(defaults), { fastLane })
        const message = `${origin}; fast lane ${fastLane}`
        t.strictSame(await ask(dispatch, request), expandZstd(reply), message)
      }
    })
