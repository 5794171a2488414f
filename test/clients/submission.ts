import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { createSolanaRpc, getBase64Decoder, type Base64EncodedWireTransaction } from '@solana/kit'
import {
  Connection,
  Keypair,
  PublicKey,
  SystemProgram,
  Transaction,
  type TransactionInstruction,
} from '@solana/web3.js'
import bs58 from 'bs58'
import t, { type Test } from 'tap'
import { createKeypair } from '../../src/sandbox/keypair.js'
import { transferLamports } from '../../src/sandbox/system-instructions.js'
import { compileV1 } from '../fixtures/compile-v1.js'
import { call, startDeployment, type Deployment } from '../fixtures/deployment.js'
import { blocksOf, readPage } from '../fixtures/markdown.js'
import { until } from '../fixtures/until.js'
import { ask, order, received } from '../fixtures/upstream.js'

const SOL = 1_000_000_000
const LANDER_FLOOR = 1_000_000

/** What the clients below have in common: a payer, somebody new to pay, and a look at the index. */
const createKit = ({ description, url }: Deployment) => {
  const payer = Keypair.fromSecretKey(bs58.decode(description.samples['payerSecretKey'] ?? ''))
  const { tips } = description
  const latest = async (): Promise<string> => {
    const { value } = (await call(url, 'getLatestBlockhash', [])) as {
      value: { blockhash: string }
    }
    return value.blockhash
  }
  const sign = async (instructions: readonly TransactionInstruction[]): Promise<Buffer> => {
    const recentBlockhash = await latest()
    const transaction = new Transaction({ feePayer: payer.publicKey, recentBlockhash })
    transaction.add(...instructions)
    transaction.sign(payer)
    return transaction.serialize()
  }
  const transfer = (to: PublicKey, lamports: number) =>
    SystemProgram.transfer({ fromPubkey: payer.publicKey, toPubkey: to, lamports })
  const tip = (kind: keyof typeof tips, lamports: number, index = 0) =>
    transfer(new PublicKey(tips[kind][index] ?? ''), lamports)
  /** A transfer of one SOL to a fresh wallet, with what else it needs. */
  const pay = async (...others: readonly TransactionInstruction[]) => {
    const to = Keypair.generate().publicKey
    const bytes = await sign([transfer(to, SOL), ...others])
    return { to, bytes, signature: bs58.encode(bytes.subarray(1, 65)) }
  }
  /** Waits until the index shows the lamports. */
  const untilPaid = (to: PublicKey, lamports = SOL): Promise<void> =>
    until(`${to.toBase58()} has ${lamports} lamports`, async () => {
      const { value } = (await call(url, 'getAccountInfo', [to.toBase58()])) as {
        value: { lamports: number } | null
      }
      return value?.lamports === lamports
    })
  return { payer, latest, tip, pay, untilPaid }
}

const frame = (records: readonly Buffer[]): Buffer =>
  Buffer.concat(
    records.flatMap(record => {
      const length = Buffer.alloc(2)
      length.writeUInt16BE(record.length)
      return [length, record]
    }),
  )

/** What an upstream has received, pings left out. */
const submissions = async (url: string) =>
  (await received(url)).filter(({ path }) => path !== '/ping')

const checkLander = async (t: Test, deployment: Deployment): Promise<void> => {
  const { description } = deployment
  const { payer, latest, tip, pay, untilPaid } = createKit(deployment)
  const { landerUrl, locations } = description
  const [{ submitUrl, rpcUrl }, nyc] = locations

  await t.test('web3.js sends by sendRawTransaction', async t => {
    await order(landerUrl, { clear: true })
    const one = await pay(tip('lander', LANDER_FLOOR))
    // It adds options of its own, and its ids are UUIDs.
    const connection = new Connection(`${submitUrl}/lander`, 'confirmed')
    t.equal(await connection.sendRawTransaction(one.bytes), one.signature)
    await untilPaid(one.to)
    const [seen, ...more] = await submissions(landerUrl)
    t.strictSame(more, [], 'the lander had it once')
    t.equal(seen?.path, '/send')
    t.equal(seen?.headers['x-api-key'], 'hml-sandbox', 'with the key of the service')
    t.notOk(JSON.stringify(seen).includes(submitUrl.slice(-38)), 'and without the token')
  })

  await t.test('kit sends, and the lander’s other tip addresses count', async t => {
    const one = await pay(tip('lander', LANDER_FLOOR, 14))
    const rpc = createSolanaRpc(`${submitUrl}/lander`)
    const text = getBase64Decoder().decode(one.bytes) as Base64EncodedWireTransaction
    const signature = await rpc.sendTransaction(text, { encoding: 'base64' }).send()
    t.equal(signature, one.signature)
    await untilPaid(one.to)
  })

  await t.test('version 1 of kit lands, too', async t => {
    const to = Keypair.generate().publicKey
    const own = createKeypair(payer.secretKey.subarray(0, 32))
    const target = bs58.decode(description.tips.lander[1] ?? '')
    const bytes = await compileV1(own, await latest(), [
      transferLamports(own.publicKey, to.toBytes(), BigInt(SOL)),
      transferLamports(own.publicKey, target, BigInt(LANDER_FLOOR)),
    ])
    const text = getBase64Decoder().decode(bytes) as Base64EncodedWireTransaction
    const rpc = createSolanaRpc(`${nyc.submitUrl}/lander`)
    t.equal(
      await rpc.sendTransaction(text, { encoding: 'base64' }).send(),
      bs58.encode(bytes.subarray(-64)),
    )
    await untilPaid(to)
  })

  await t.test('a bundle with the token in a header', async t => {
    const [a, b] = [await pay(tip('lander', LANDER_FLOOR)), await pay()]
    const answer = await ask(`${new URL(submitUrl).origin}/lander-submit-bundle`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': submitUrl.slice(-42) },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 'b',
        method: 'sendBundle',
        params: [[a, b].map(({ bytes }) => bytes.toString('base64')), { encoding: 'base64' }],
      }),
    })
    t.match(answer, {
      status: 200,
      body: /^\{"jsonrpc":"2\.0","result":"[0-9a-f]{64}","id":"b"\}$/,
    })
    t.equal(answer.headers.get('set-cookie'), null, 'no cookie of the lander passes')
    await Promise.all([untilPaid(a.to), untilPaid(b.to)])
  })

  await t.test('a batch, and the counts of one that is rejected in part', async t => {
    const [a, b] = [await pay(tip('lander', LANDER_FLOOR)), await pay()]
    const post = (body: Buffer) =>
      ask(`${submitUrl}/lander-submit-batch`, {
        method: 'POST',
        headers: { 'content-type': 'application/octet-stream' },
        body: Uint8Array.from(body),
      })
    t.match(await post(frame([a.bytes, b.bytes])), {
      status: 400,
      body: '{"attempted":2,"accepted":1,"rejected":1,"parse_error":null}',
    })
    await untilPaid(a.to)
    t.match(await call(rpcUrl, 'getAccountInfo', [b.to.toBase58()]), { value: null })
    const c = await pay(tip('lander', LANDER_FLOOR))
    t.match(await post(frame([c.bytes])), {
      status: 200,
      body: '{"attempted":1,"accepted":1,"rejected":0,"parse_error":null}',
    })
    await untilPaid(c.to)
  })
}

const run = promisify(execFile)

t.test('what is submitted lands, and is read back', async t => {
  const deployment = await startDeployment(t, { args: ['--edges', '2', '--slot-ms', '100'] })
  await t.test('lander', t => checkLander(t, deployment))

  await t.test('the orders of sandbox.md are followed', async t => {
    const { landerUrl } = deployment.description
    const page = readPage('docs/sandbox.md')
    const [look, misbehave, clear] = blocksOf(page)
      .filter(({ language }) => language === 'sh')
      .flatMap(({ text }) => text.split('\n'))
    const sh = async (command = ''): Promise<string> =>
      (await run('sh', ['-c', command.replace('$LANDER', landerUrl)])).stdout
    t.match(JSON.parse(await sh(look)), { received: [{ path: String, headers: {}, body: String }] })
    t.equal(await sh(misbehave), '{}')
    t.match(await ask(`${landerUrl}/send`, { method: 'POST' }), {
      status: 503,
      type: 'text/plain',
      body: 'unavailable',
    })
    t.equal(await sh(clear), '{}')
    const [limit = ''] = blocksOf(page).flatMap(each => (each.language === 'json' ? each.text : []))
    t.match(await ask(`${landerUrl}/_control`, { method: 'POST', body: limit }), { body: '{}' })
    t.match(JSON.parse((await ask(`${landerUrl}/send`, { method: 'POST' })).body), {
      error: { code: -32097, data: null },
      id: null,
    })
    await sh(clear)
  })
  t.equal(await deployment.stop(), 0)
})
