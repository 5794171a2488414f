import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Keypair, PublicKey, SystemProgram, Transaction } from '@solana/web3.js'
import bs58 from 'bs58'
import t from 'tap'
import { call, startDeployment } from '../fixtures/deployment.js'
import { blocksOf, readPage } from '../fixtures/markdown.js'
import { base64, frame } from '../fixtures/tipping.js'
import { until } from '../fixtures/until.js'

const run = promisify(execFile)
const SOL = 1_000_000_000
const FLOOR = 1_000_000
const JSON_TYPE = 'application/json'
const BYTES_TYPE = 'application/octet-stream'

type Value = { readonly value: { readonly lamports: bigint | number } | null }

t.test('what is sent to the lander of a sandbox is read back from the index', async t => {
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
  /** Pays somebody new, and a tip. */
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

  const shown = await pay()
  const file = join(dataDir, 'batch')
  writeFileSync(file, frame(shown.bytes))
  const env = {
    PATH: process.env['PATH'],
    SUBMIT: submitUrl,
    TRANSACTION: base64(shown.bytes),
    BATCH: file,
  }
  const [, routes = ''] = readPage('docs/submission.md').split('\n## Lander routes\n')
  const commands = blocksOf(routes).find(({ language }) => language === 'sh')
  const said: unknown[] = []
  for (const command of commands?.text.split('\n') ?? [])
    said.push(JSON.parse((await run('sh', ['-c', command], { env })).stdout))
  t.match(said, [
    { jsonrpc: '2.0', id: 1, result: shown.signature },
    { jsonrpc: '2.0', id: 1, result: /^[0-9a-f]{64}$/ },
    { attempted: 1, accepted: 1, rejected: 0, parse_error: null },
  ])

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
  t.equal(sum('upstream_requests_total\\{.*upstream="lander",outcome="silent"'), 1)
  t.equal(await stop(), 0)
  for (const [where, text] of Object.entries({ page, output: output() })) {
    t.notMatch(text, 'hml-sandbox', `no credential in ${where}`)
    t.notMatch(where === 'page' ? text : '', /slt_/, 'no token')
  }
})
