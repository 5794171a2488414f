import t from 'tap'
import * as v from 'valibot'
import { accountsRpcSection } from '../../../../src/config/sections/network/accounts-rpc.js'

t.test('secrets of the accounts RPC are allowed only in their options', t => {
  const cases: [accountsRpc: object, right: boolean][] = [
    [{ endpoint: 'https://rpc.example/path' }, true],
    [{ endpoint: 'https://rpc.example', credential: 'k', credentialIn: 'query' }, true],
    [{ endpoint: 'https://rpc.example', encoding: 'base64+zstd', sweepKeysPerSecond: 0 }, true],
    [{}, false],
    [{ endpoint: 'https://rpc.example/?api-key=k' }, false],
    [{ endpoint: 'https://user@rpc.example' }, false],
    [{ endpoint: 'wss://rpc.example' }, false],
    [{ endpoint: 'https://rpc.example', credential: 'two words' }, false],
    [{ endpoint: 'https://rpc.example', credentialIn: 'body' }, false],
    [{ endpoint: 'https://rpc.example', credentialName: 'x key' }, false],
    [{ endpoint: 'https://rpc.example', encoding: 'base58' }, false],
    [{ endpoint: 'https://rpc.example', splitOffset: -1 }, false],
    [{ endpoint: 'https://rpc.example', requestsPerSecondMax: 0 }, false],
  ]
  for (const [accountsRpc, right] of cases)
    t.equal(v.is(accountsRpcSection, accountsRpc), right, JSON.stringify(accountsRpc))
  t.end()
})
