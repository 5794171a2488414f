import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { createSolanaRpc, getBase64Decoder, type Base64EncodedWireTransaction } from '@solana/kit'
import {
  Connection,
  Keypair,
  PublicKey,
  SystemProgram,
  Transaction,
  TransactionInstruction,
} from '@solana/web3.js'
import bs58 from 'bs58'
import { JitoJsonRpcClient } from 'jito-js-rpc'
import t, { type Test } from 'tap'
import { CREDENTIALS } from '../../src/sandbox/upstreams/credentials.js'
import { deriveBundleId } from '../../src/sandbox/upstreams/derive-bundle-id.js'
import { createKeypair } from '../../src/sandbox/solana/keypair.js'
import { transferLamports } from '../../src/sandbox/solana/system-instructions.js'
import { mintTo } from '../../src/sandbox/solana/token-instructions.js'
import { compileV1 } from '../fixtures/sandbox/compile-v1.js'
import { call, startDeployment, type Deployment } from '../fixtures/processes/deployment.js'
import { blocksOf, readPage } from '../fixtures/docs/markdown.js'
import { until } from '../fixtures/until.js'
import { ask, callUpstream, setFault, received } from '../fixtures/sandbox/upstream.js'

const SOL = 1_000_000_000
const LANDER_FLOOR = 1_000_000
const SERVICE_FLOOR = 1_000_000
const ENGINE_FLOOR = 1_000

const result = (value: unknown) => `{"jsonrpc":"2.0","result":${JSON.stringify(value)},"id":7}`

/** Shared by the clients below: a payer, new receivers, and reads of the index. */
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
  /** A transfer of one SOL to a new wallet. */
  const pay = async (...others: readonly TransactionInstruction[]) => {
    const to = Keypair.generate().publicKey
    const bytes = await sign([transfer(to, SOL), ...others])
    return { to, bytes, signature: bs58.encode(bytes.subarray(1, 65)) }
  }
  /** Waits until the index has the lamports. */
  const untilPaid = (to: PublicKey, lamports = SOL): Promise<void> =>
    until(`${to.toBase58()} has ${lamports} lamports`, async () => {
      const { value } = (await call(url, 'getAccountInfo', [to.toBase58()])) as {
        value: { lamports: number } | null
      }
      return value?.lamports === lamports
    })
  return { payer, latest, transfer, tip, pay, untilPaid }
}

const frame = (records: readonly Buffer[]): Buffer =>
  Buffer.concat(
    records.flatMap(record => {
      const length = Buffer.alloc(2)
      length.writeUInt16BE(record.length)
      return [length, record]
    }),
  )

/** The requests that an upstream has received, without pings. */
const submissions = async (url: string) =>
  (await received(url)).filter(({ path }) => !path.startsWith('/ping'))

const checkLander = async (t: Test, deployment: Deployment): Promise<void> => {
  const { description } = deployment
  const { payer, latest, tip, pay, untilPaid } = createKit(deployment)
  const { landerUrl, locations } = description
  const [{ submitUrl, rpcUrl }, nyc] = locations

  await t.test('web3.js sends by sendRawTransaction', async t => {
    await setFault(landerUrl, { clear: true })
    const one = await pay(tip('lander', LANDER_FLOOR))
    // It adds its own options, and its ids are UUIDs.
    const connection = new Connection(`${submitUrl}/lander`, 'confirmed')
    t.equal(await connection.sendRawTransaction(one.bytes), one.signature)
    await untilPaid(one.to)
    const [seen, ...more] = await submissions(landerUrl)
    t.strictSame(more, [], 'the lander had it once')
    t.equal(seen?.path, '/send')
    t.equal(seen?.headers['x-api-key'], 'hml-sandbox', 'with the key of the service')
    t.notOk(JSON.stringify(seen).includes(submitUrl.slice(-38)), 'and without the token')
  })

  await t.test('kit sends, with a tip to another address of the lander', async t => {
    const one = await pay(tip('lander', LANDER_FLOOR, 14))
    const rpc = createSolanaRpc(`${submitUrl}/lander`)
    const text = getBase64Decoder().decode(one.bytes) as Base64EncodedWireTransaction
    const signature = await rpc.sendTransaction(text, { encoding: 'base64' }).send()
    t.equal(signature, one.signature)
    await untilPaid(one.to)
  })

  await t.test('a version 1 transaction of kit lands', async t => {
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

  await t.test('a bundle is accepted with the token in a header', async t => {
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

  await t.test('a batch is accepted, and a partly rejected one has counts', async t => {
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

/** Meets the rules of both relay routes: tips to both, and another instruction. */
const createBundles = (deployment: Deployment) => {
  const kit = createKit(deployment)
  const { samples } = deployment.description
  const key = (name: string): Uint8Array => bs58.decode(samples[name] ?? '')
  const { programId, accounts, data } = mintTo(
    key('program'),
    { mint: key('mint'), account: key('tokenAccount') },
    kit.payer.publicKey.toBytes(),
    1n,
  )
  const application = new TransactionInstruction({
    programId: new PublicKey(programId),
    keys: accounts.map(({ pubkey, isSigner, isWritable }) => ({
      pubkey: new PublicKey(pubkey),
      isSigner,
      isWritable,
    })),
    data: Buffer.from(data),
  })
  const qualify = [application, kit.tip('service', SERVICE_FLOOR), kit.tip('engine', ENGINE_FLOOR)]
  const base64 = (...members: readonly { readonly bytes: Buffer }[]): string[] =>
    members.map(({ bytes }) => bytes.toString('base64'))
  const idOf = (...members: readonly { readonly bytes: Buffer }[]): string =>
    deriveBundleId(members.map(({ bytes }) => bytes.subarray(1, 65)))
  return { ...kit, qualify, base64, idOf }
}

const checkRelayBundle = async (t: Test, deployment: Deployment): Promise<void> => {
  const { description } = deployment
  const { pay, transfer, untilPaid, qualify, base64, idOf } = createBundles(deployment)
  const { bundleEngineUrl, locations, tips } = description
  const [{ submitUrl }] = locations
  // It appends `/bundles` to its base URL; the query absorbs that.
  const jito = new JitoJsonRpcClient(`${submitUrl}/relay-bundle?from=`)

  await t.test('jito-js-rpc sends a bundle and polls its status', async t => {
    t.strictSame((await jito.getTipAccounts()).result, tips.engine)
    await setFault(bundleEngineUrl, { clear: true })
    const [a, b] = [await pay(...qualify), await pay()]
    const { result: id } = await jito.sendBundle([base64(a, b), { encoding: 'base64' }])
    t.equal(id, idOf(a, b))
    await Promise.all([untilPaid(a.to), untilPaid(b.to)])
    const statusOf = async () => (await jito.getInFlightBundleStatuses([[id ?? '']])).result
    await until('it has landed', async () => (await statusOf())?.value[0]?.status === 'Landed')
    t.match((await jito.getBundleStatuses([[id ?? '']])).result, {
      context: { slot: Number },
      value: [
        {
          bundle_id: id,
          transactions: [a.signature, b.signature],
          slot: Number,
          confirmation_status: 'finalized',
          err: { Ok: null },
        },
      ],
    })
    const seen = (await received(bundleEngineUrl)).filter(({ body }) => body.includes('sendBundle'))
    t.equal(seen.length, 1, 'the engine had it once')
    t.match(seen, [{ path: '/api/v1/bundles', headers: { 'x-jito-auth': CREDENTIALS.engine } }])
    t.notOk(JSON.stringify(seen).includes(submitUrl.slice(-38)), 'without the token')
  })

  await t.test('a failing bundle changes nothing, and its status is Failed', async t => {
    const good = await pay(...qualify)
    // A new account with one lamport is below the rent.
    const bad = await pay(transfer(Keypair.generate().publicKey, 1))
    const { result: id } = await jito.sendBundle([base64(good, bad), { encoding: 'base64' }])
    const { result } = await jito.getInFlightBundleStatuses([[id ?? '']])
    t.match(result?.value, [{ bundle_id: id, status: 'Failed', landed_slot: null }])
    const next = await pay(...qualify)
    await jito.sendBundle([base64(next), { encoding: 'base64' }])
    await untilPaid(next.to)
    t.match(await call(deployment.url, 'getAccountInfo', [good.to.toBase58()]), { value: null })
  })

  await t.test('errors of the engine are passed on, and its rate limit as engineFull', async t => {
    const send = async (members: readonly { readonly bytes: Buffer }[]) =>
      callUpstream(`${submitUrl}/relay-bundle`, 'sendBundle', [
        base64(...members),
        { encoding: 'base64' },
      ])
    const one = await pay(...qualify)
    t.match(await send([one]), { body: result(idOf(one)) })
    const again = await send([one])
    t.match(JSON.parse(again.body), {
      error: { code: -32602, message: 'bundle contains an already processed transaction' },
      id: 7,
    })
    await untilPaid(one.to)
    await setFault(bundleEngineUrl, {
      status: 429,
      body: '{"jsonrpc":"2.0","error":{"code":-32097,"message":"Network congested. Endpoint is globally rate limited.","data":null},"id":null}',
      times: 1,
    })
    const limited = await send([await pay(...qualify)])
    t.equal(limited.headers.get('retry-after'), '1')
    t.match(JSON.parse(limited.body), { error: { code: -32010 }, id: 7 })

    await setFault(bundleEngineUrl, { clear: true, reset: 'after', times: 1 })
    const lost = await pay(...qualify)
    t.match(JSON.parse((await send([lost])).body), {
      error: { code: -32603, message: /outcome unknown/ },
      id: 7,
    })
    await untilPaid(lost.to)
    const seen = (await received(bundleEngineUrl)).filter(({ body }) => body.includes('sendBundle'))
    t.equal(seen.length, 1, 'it landed all the same, and was not sent again')
  })
}

const checkRelay = async (t: Test, deployment: Deployment): Promise<void> => {
  const { bundleEngineUrl, locations, samples } = deployment.description
  const { pay, untilPaid, qualify, base64, idOf } = createBundles(deployment)
  const [, { submitUrl }] = locations
  const options = { encoding: 'base64', mevProtect: true, revertProtection: true }
  const send = (params: unknown) => callUpstream(`${submitUrl}/relay`, 'sendBundle', params)

  await t.test('bundles of one and of four are accepted', async t => {
    await setFault(bundleEngineUrl, { clear: true })
    const amountOf = async (): Promise<bigint> => {
      const found = await call(deployment.url, 'getTokenAccountBalance', [samples['tokenAccount']])
      return BigInt((found as { value: { amount: string } }).value.amount)
    }
    const before = await amountOf()
    const one = await pay(...qualify)
    const answer = await send([base64(one), options])
    t.match(answer, { status: 200, body: result([one.signature]) })
    t.equal(answer.headers.get('x-bundle-id'), idOf(one))
    t.match(answer.headers.get('x-relay-submission-id'), /^[0-9a-f-]{14}7[0-9a-f-]{21}$/)
    await untilPaid(one.to)
    t.equal(await amountOf(), before + 1n, 'the mint gave one more')
    const four = [await pay(), await pay(), await pay(), await pay(...qualify)]
    t.match(await send([base64(...four), options]), {
      body: result(four.map(({ signature }) => signature)),
    })
    await Promise.all(four.map(({ to }) => untilPaid(to)))
    const seen = (await received(bundleEngineUrl)).filter(({ body }) => body.includes('sendBundle'))
    t.strictSame(
      seen.map(({ path, headers }) => [path, headers['x-api-key']]),
      [
        ['/iris', CREDENTIALS.iris],
        ['/iris', CREDENTIALS.iris],
      ],
    )
  })

  await t.test('a bundle that does not qualify is not forwarded', async t => {
    await setFault(bundleEngineUrl, { clear: true })
    const tipsOnly = await pay(...qualify.slice(1))
    t.match(JSON.parse((await send([base64(tipsOnly), options])).body), {
      error: { code: -32602, message: /^one bundle member must pay at least/ },
    })
    const five = await Promise.all([1, 2, 3, 4, 5].map(() => pay(...qualify)))
    t.match(JSON.parse((await send([base64(...five), options])).body), {
      error: { code: -32602, message: 'sendBundle transaction count exceeds 4' },
    })
    t.strictSame(await received(bundleEngineUrl), [])
  })
}

const run = promisify(execFile)

t.test('submitted transactions land and can be read', async t => {
  const deployment = await startDeployment(t, {
    args: ['--edges', '2', '--slot-ms', '100', '--traffic', '0'],
  })
  await t.test('lander', t => checkLander(t, deployment))
  await t.test('relay-bundle', t => checkRelayBundle(t, deployment))
  await t.test('relay', t => checkRelay(t, deployment))

  await t.test('the control requests of sandbox.md work', async t => {
    const { landerUrl } = deployment.description
    const page = readPage('docs/sandbox.md')
    const [list, inject, clear] = blocksOf(page)
      .filter(({ language }) => language === 'sh')
      .flatMap(({ text }) => text.split('\n'))
    const sh = async (command = ''): Promise<string> =>
      (await run('sh', ['-c', command.replace('$LANDER', landerUrl)])).stdout
    t.match(JSON.parse(await sh(list)), { received: [{ path: String, headers: {}, body: String }] })
    t.equal(await sh(inject), '{}')
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
