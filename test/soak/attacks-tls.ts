// Attacks on a listener that speaks TLS: those that cost the event loop most without it, and those
// that only TLS makes possible.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startSandboxChain } from '../../src/sandbox/sandbox-chain.js'
import { LIMITS, WIDE_LIMITS, openControl } from '../fixtures/access/access.js'
import { TLS_ATTACKS } from '../fixtures/attacks/tls-attacks.js'
import { runTrial } from '../fixtures/attacks/trial.js'
import { prepareServe } from '../fixtures/processes/serve.js'
import { makeCertificate } from '../fixtures/server/certificates.js'
import { soakTest } from '../fixtures/soak.js'
import { until } from '../fixtures/until.js'

const ATTACKS = [
  '8 MiB of numbers',
  '8 MiB of escapes',
  'batch of 100 × 128 addresses',
  'page of 10,000 as jsonParsed',
  'bodies of single bytes',
  'chunks of one byte',
  'pipelined unknown tokens',
  'pipelined calls over the rate',
  'pipelined pings',
  'handshakes',
  'frames of 1 MiB',
  'messages of one byte',
  'fragments of one byte',
  ...TLS_ATTACKS.map(({ name }) => name),
]
/** Tokens that are made before the service starts, which then is the only writer. */
const TOKENS = ATTACKS.length + 8

soakTest('a bystander over TLS does not notice what another access sends', {}, async t => {
  t.setTimeout(900_000)
  process.env['SLOTLINE_TEST_TLS'] = '1'
  const chain = await startSandboxChain({ seed: 'tls' })
  t.teardown(() => chain.close())
  const dir = mkdtempSync(join(tmpdir(), 'slotline-tls-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  const feed = { endpoint: chain.geyserUrl, startSlot: chain.chain.options.firstSlot }
  const sections = { processes: { edgeCount: 1 } }
  const prepared = await prepareServe(t, { one: feed }, sections, {
    tls: makeCertificate(dir, 'own'),
  })
  const { store, accessManager, tokenManager } = await openControl(prepared.dataDir, Date.now)
  const grant = async (limits: typeof LIMITS): Promise<string> => {
    const scope = { networks: ['one'], locations: ['fra'] }
    const time = { validFromMs: 0, validUntilMs: null }
    const of = { subject: 'eve', kind: 'pass', product: 'node' } as const
    const { accessId } = await accessManager.grant({ ...of, ...scope, ...time, limits })
    const made = await tokenManager.generate({ accessId, network: 'one', location: 'fra' })
    return made.token.reveal()
  }
  const wide = await grant(WIDE_LIMITS)
  const limits = { ...LIMITS, requestsPerSecondMax: 100, requestsBurstMax: 200 }
  const limited: string[] = []
  while (limited.length < TOKENS) limited.push(await grant(limits))
  await store.close()

  await prepared.start()
  const { metricsUrl } = prepared
  await until('it is indexed', async () =>
    /^slotline_tip_slot\{.*\} [1-9]/m.test(await (await fetch(metricsUrl)).text()),
  )
  const subject = {
    port: prepared.portOf('fra'),
    samples: { ...chain.samples },
    metricsUrl,
    createToken: async (given?: object) => (given === undefined ? wide : (limited.pop() ?? '')),
  }
  await runTrial(t, subject, ATTACKS)
})
