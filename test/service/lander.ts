import { Keypair, PublicKey, SystemProgram, Transaction } from '@solana/web3.js'
import bs58 from 'bs58'
import t from 'tap'
import { call, startDeployment } from '../fixtures/processes/deployment.js'
import { runDocumented } from '../fixtures/docs/documented.js'
import { base64, frame } from '../fixtures/sandbox/tipping.js'
import { until } from '../fixtures/until.js'

const SOL = 1_000_000_000
const FLOOR = 1_000_000
const JSON_TYPE = 'application/json'
const BYTES_TYPE = 'application/octet-stream'

type Value = { readonly value: { readonly lamports: bigint | number } | null }

t.test('transactions sent to the lander of a sandbox are read from the index', async t => {
  const { description, dataDir, output, stop } = await startDeployment(t, {
    args: ['--edges', '2'],
  })
  const [{ rpcUrl, submitUrl }] = description.locations
  const { samples, tips, landerUrl, metricsUrl } = description
  const payer = Keypair.fromSecretKey(bs58.decode(samples['payerSecretKey'] ?? ''))
  const [tipAddress = ''] = tips.lander

  const lamportsOf = async (to: PublicKey): Promise<number> => {
    const { value } = (await call(rpcUrl, 'getAccountInfo', [to.toBase58()])) as Value
    return Number(value?.lamports ?? 0)
  }
  /** Pays a new account, and a tip. */
  const pay = async (tip = FLOOR) => {
    const { value } = (await call(rpcUrl, 'getLatestBlockhash', [])) as {
      value: { blockhash: string }
    }
    const to = Keypair.generate().publicKey
    const fromPubkey = payer.publicKey
    const transaction = new Transaction({ feePayer: fromPubkey, recentBlockhash: value.blockhash })
    transaction.add(SystemProgram.transfer({ fromPubkey, toPubkey: to, lamports: SOL }))
    const toPubkey = new PublicKey(tipAddress)
    if (tip > 0) transaction.add(SystemProgram.transfer({ fromPubkey, toPubkey, lamports: tip }))
    transaction.sign(payer)
    const bytes = transaction.serialize()
    return { to, bytes, signature: bs58.encode(bytes.subarray(1, 65)) }
  }
  const post = async (path: string, type: string, body: string | Uint8Array<ArrayBuffer>) => {
    const headers = { 'content-type': type }
    const response = await fetch(submitUrl + path, { method: 'POST', headers, body })
    const findings = response.headers.get('x-lander-findings')
    return { status: response.status, findings, reply: await response.json() }
  }
  const send = (method: string, path: string, transactions: unknown) => {
    const params = [transactions, { encoding: 'base64' }]
    return post(path, JSON_TYPE, JSON.stringify({ jsonrpc: '2.0', id: 'a', method, params }))
  }

  const one = await pay()
  t.strictSame(await send('sendTransaction', '/lander', base64(one.bytes)), {
    status: 200,
    findings: null,
    reply: { jsonrpc: '2.0', result: one.signature, id: 'a' },
  })

  const pair = [await pay(), await pay(0)]
  const texts = pair.map(({ bytes }) => base64(bytes))
  const bundled = await send('sendBundle', '/lander-submit-bundle', texts)
  t.match(bundled, { status: 200, findings: null, reply: { id: 'a', result: /^[0-9a-f]{64}$/ } })

  const batch = [await pay(), await pay(FLOOR - 1), await pay()]
  const body = Uint8Array.from(frame(...batch.map(({ bytes }) => bytes)))
  t.match(await post('/lander-submit-batch', BYTES_TYPE, body), {
    status: 400,
    findings: '1:tip',
    reply: { attempted: 3, accepted: 2, rejected: 1, parse_error: null },
  })

  const landed = [one, ...pair, batch[0], batch[2]].map(each => each?.to)
  for (const to of landed)
    await until(
      'it is in the index',
      async () => to !== undefined && (await lamportsOf(to)) === SOL,
    )
  t.equal(await lamportsOf(batch[1]?.to ?? payer.publicKey), 0, 'without a tip it did not land')

  const { answers, wallet } = await runDocumented('Lander routes', dataDir)
  t.match(answers, [
    { jsonrpc: '2.0', id: 1, result: /^[1-9A-HJ-NP-Za-km-z]{86,88}$/ },
    { jsonrpc: '2.0', id: 1, result: /^[0-9a-f]{64}$/ },
    { attempted: 2, accepted: 2, rejected: 0, parse_error: null },
  ])
  await until('it landed', async () => (await lamportsOf(new PublicKey(wallet))) === SOL)

  const control = (order: object): Promise<Response> =>
    fetch(`${landerUrl}/_control`, { method: 'POST', body: JSON.stringify(order) })
  await control({ reset: 'after', times: 1 })
  const lost = await pay()
  t.match(await send('sendTransaction', '/lander', base64(lost.bytes)), {
    status: 504,
    reply: { error: { code: -32603, message: 'submission outcome unknown' }, id: 'a' },
  })
  await until('it was sent all the same', async () => (await lamportsOf(lost.to)) === SOL)

  const page = await (await fetch(metricsUrl)).text()
  const sum = (name: string): number =>
    [...page.matchAll(new RegExp(`^slotline_${name}.*\\} (\\d+)$`, 'gm'))].reduce(
      (total, [, count]) => total + Number(count),
      0,
    )
  t.equal(sum('submissions_total\\{.*outcome="forwarded"'), 6)
  t.equal(sum('submissions_total\\{.*outcome="outcomeUnknown"'), 1)
  t.equal(sum('lander_findings_total\\{.*kind="tip"'), 1)
  t.equal(sum('upstream_requests_total\\{.*upstream="lander",outcome="no-response"'), 1)

  // A forwarded request is answered although the service is stopped before the answer.
  await control({ clear: true })
  await control({ delayMs: 1_500 })
  const last = await pay()
  const answered = send('sendTransaction', '/lander', base64(last.bytes))
  await until('it is at the lander', async () => {
    const { received } = (await (await fetch(`${landerUrl}/_control`)).json()) as {
      received: { path: string }[]
    }
    return received.some(({ path }) => path === '/send')
  })
  t.equal(await stop(), 0)
  t.match(await answered, { status: 200, reply: { result: last.signature, id: 'a' } })
  for (const [where, text] of Object.entries({ page, output: output() })) {
    t.notMatch(text, 'hml-sandbox', `no credential in ${where}`)
    t.notMatch(where === 'page' ? text : '', /slt_/, 'no token')
  }
})
