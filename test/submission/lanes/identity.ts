import bs58 from 'bs58'
import t from 'tap'
import { createKeypair } from '../../../src/sandbox/solana/keypair.js'
import { presetOf, type Preset } from '../../../src/submission/lanes/presets.js'
import { explainCredential, toIdentity } from '../../../src/submission/lanes/quic-identity.js'

const SEED = Buffer.alloc(32, 7)
const { publicKey } = createKeypair(SEED)
const KEYPAIR = bs58.encode(Buffer.concat([SEED, publicKey]))
/** As the tests of the Glaive client of sol-trade-sdk 11.0.1 have it. */
const KEY = '00112233-4455-4677-8899-AABBCCDDEEFF'
const KEY_BYTES = '00112233445546778899aabbccddeeff'
const PEM = '-----BEGIN CERTIFICATE-----\nAA==\n-----BEGIN EC PRIVATE KEY-----\nAA==\n'

const preset = (name: string): Preset => {
  const found = presetOf(name)
  if (found === undefined) throw new Error(`no preset ${name}`)
  return found
}

const identityOf = (name: string, credential?: string, isProtected = false) =>
  toIdentity({ credential, isProtected }, preset(name))

t.test('a wallet is named by its public key, and its seed stays here', t => {
  // As the Soyas client of sol-trade-sdk 11.0.1 names the same keypair.
  const name = 'GmaDrppBC7P5ARKV8g3djiwP89vz1jLK23V2GBjuAEGB'
  t.match(identityOf('soyas', KEYPAIR), { certificate: 'named', key: name, isProtected: false })
  t.equal(identityOf('soyas', 'no keypair').key, '')
  t.equal(identityOf('astralane', KEYPAIR).key, KEYPAIR)
  t.strictSame(identityOf('solami', KEYPAIR).seed, new Uint8Array(SEED))
  t.equal(identityOf('tpu').seed, undefined, 'a new key')
  t.end()
})

t.test('a key that is a UUID is written as each sender expects it', t => {
  const hex = (name: string, isProtected = false): string =>
    Buffer.from(identityOf(name, KEY, isProtected).greeting ?? []).toString('hex')
  t.equal(hex('node1'), KEY_BYTES)
  t.equal(hex('glaive'), `${KEY_BYTES}00`)
  t.equal(hex('glaive', true), `${KEY_BYTES}01`)
  t.match(identityOf('falcon', KEY), { key: KEY.toLowerCase(), isEd25519: true })
  const { certificate, greeting, isGreetingAnswered } = identityOf('nextblock', 'a key')
  t.equal(String(greeting), 'a key')
  t.strictSame([certificate, isGreetingAnswered], ['none', true])
  t.match(identityOf('bloxroute', PEM), { certificate: 'issued', isPeerVerified: true })
  t.end()
})

t.test('a credential that is none of its sender is explained', t => {
  const cases: [name: string, credential: string, why: string | undefined][] = [
    ['lunar-lander', 'any', undefined],
    ['nextblock', 'any', undefined],
    ['soyas', KEYPAIR, undefined],
    ['tpu', 'short', 'a keypair of 64 bytes in base58'],
    ['node1', KEY, undefined],
    ['node1', KEY.slice(1), 'a UUID'],
    ['falcon', KEY.replaceAll('-', ''), 'a UUID'],
    ['glaive', KEY, undefined],
    ['glaive', KEY.replace('-4677', '-1677'), 'a UUID of version 4'],
    ['bloxroute', PEM, undefined],
    ['bloxroute', PEM.slice(10), 'a certificate and its private key in PEM, from credentialFile'],
  ]
  for (const [name, credential, why] of cases)
    t.equal(explainCredential(preset(name), credential), why, `${name} ${credential.slice(0, 9)}`)
  t.end()
})
