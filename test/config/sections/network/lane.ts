import t from 'tap'
import { ConfigError, parseConfig } from '../../../../src/config/config.js'
import { FILE } from '../../../fixtures/config.js'

const KEYPAIR = '1'.repeat(64)
const UUID = '00112233-4455-4677-8899-aabbccddeeff'
const PEM = '-----BEGIN CERTIFICATE-----\\nAA==\\n-----BEGIN PRIVATE KEY-----\\nAA=='

/** What is wrong with a lane; empty where nothing is. */
const faultOf = (lane: string): string => {
  const lanes = `lanes = [{ id = "a", tipFloorLamports = 0, ${lane} }]`
  const text = FILE.replace('id = "dev"', `id = "dev"\n${lanes}`)
  try {
    parseConfig(text, 'slotline.toml')
    return ''
  } catch (error) {
    if (error instanceof ConfigError) return error.message
    throw error
  }
}

t.test('a lane needs the URL, the preset and the credential of its kind', t => {
  const quic = 'kind = "quic-frame", url = "quic://a:1"'
  const json = 'kind = "json", url = "http://a/b"'
  const cases: [lane: string, fault: string][] = [
    ['kind = "frame", url = "http://a/b"', ''],
    ['kind = "octets", url = "quic://a:1"', 'url: octets needs an http or https URL'],
    [`${json}, preset = "flashblock"`, ''],
    [json, 'preset: none is none of json'],
    [`${json}, preset = "node1"`, 'preset: node1 is none of json'],
    [
      'kind = "text", url = "http://a", preset = "blockrazor"',
      'preset: blockrazor is none of text',
    ],
    ['kind = "quic-frame", url = "http://a"', 'url: quic-frame needs quic://host:port'],
    [`${quic}, preset = "tpu"`, 'preset: tpu is none of quic-frame'],
    [`${quic}, preset = "nextblock"`, 'credential: quic-frame needs the key of the service'],
    [`${quic}, preset = "nextblock", credential = "k"`, ''],
    [`${quic}, preset = "nextblock", credential = "two words"`, 'visible ASCII characters, or PEM'],
    [`${quic}, preset = "node1", credential = "k"`, 'credential: node1 needs a UUID'],
    [`${quic}, preset = "node1", credential = "${UUID}"`, ''],
    [
      `${quic}, preset = "glaive", credential = "${UUID.replace('-4677', '-1677')}"`,
      'credential: glaive needs a UUID of version 4',
    ],
    [`${quic}, preset = "bloxroute", credential = "${PEM}"`, ''],
    [
      `${quic}, preset = "bloxroute", credential = "k"`,
      'credential: bloxroute needs a certificate and its private key in PEM, from credentialFile',
    ],
    [
      'kind = "quic-tpu", url = "quic://a:1", preset = "tpu", credential = "k"',
      'credential: tpu needs a keypair of 64 bytes in base58',
    ],
    [`kind = "quic-tpu", url = "quic://a:1", preset = "tpu", credential = "${KEYPAIR}"`, ''],
  ]
  for (const [lane, fault] of cases) {
    const found = faultOf(lane)
    if (fault === '') t.equal(found, '', lane)
    else t.match(found, fault, lane)
    t.notMatch(found, 'AA==', 'no secret')
  }
  t.end()
})
