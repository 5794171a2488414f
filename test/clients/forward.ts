import {
  address,
  appendTransactionMessageInstructions,
  createKeyPairSignerFromBytes,
  createSolanaRpc,
  createTransactionMessage,
  generateKeyPairSigner,
  getBase64EncodedWireTransaction,
  getSignatureFromTransaction,
  lamports,
  pipe,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signature,
  signTransactionMessageWithSigners,
} from '@solana/kit'
import {
  ComputeBudgetProgram,
  Connection,
  Keypair,
  LAMPORTS_PER_SOL,
  PublicKey,
  SystemProgram,
  Transaction,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js'
import bs58 from 'bs58'
import t, { type Test } from 'tap'
import { closeWeb3Socket } from '../fixtures/close-web3-socket.js'
import { startDeployment, type Deployment } from '../fixtures/processes/deployment.js'
import { until } from '../fixtures/until.js'

const LAMPORTS = 123_456_789

const isDecided = (status: string | null | undefined): boolean =>
  status === 'confirmed' || status === 'finalized'

/** A transfer by web3.js 1.x, polled until it is confirmed, and read by every method. */
const checkWeb3 = async (t: Test, { url, description }: Deployment): Promise<void> => {
  const connection = new Connection(url, 'confirmed')
  const payer = Keypair.fromSecretKey(bs58.decode(description.samples['payerSecretKey'] ?? ''))
  const to = Keypair.generate()
  const { blockhash, lastValidBlockHeight } = await connection.getLatestBlockhash()
  t.ok((await connection.isBlockhashValid(blockhash)).value)
  const transfer = SystemProgram.transfer({
    fromPubkey: payer.publicKey,
    toPubkey: to.publicKey,
    lamports: LAMPORTS,
  })
  const transaction = new Transaction({
    blockhash,
    lastValidBlockHeight,
    feePayer: payer.publicKey,
  })
  transaction.add(transfer)
  t.equal((await connection.getFeeForMessage(transaction.compileMessage())).value, 5_000)
  const simulated = await connection.simulateTransaction(transaction)
  t.match(simulated.value, { err: null, unitsConsumed: 150 })
  t.equal(await connection.getBalance(to.publicKey), 0, 'a simulation does nothing')

  const sent = await connection.sendTransaction(transaction, [payer])
  await until('it is confirmed', async () => {
    const { value } = await connection.getSignatureStatuses([sent])
    t.equal(value[0]?.err ?? null, null)
    return isDecided(value[0]?.confirmationStatus)
  })
  await until('the index shows it', async () => {
    return (await connection.getBalance(to.publicKey)) === LAMPORTS
  })
  const found = await connection.getTransaction(sent, { maxSupportedTransactionVersion: 0 })
  t.match(found, { meta: { err: null, fee: 5_000 }, version: 'legacy' })
  t.equal(found?.transaction.message.getAccountKeys().get(1)?.toBase58(), to.publicKey.toBase58())
  const parsed = await connection.getParsedTransaction(sent, 'confirmed')
  t.match(parsed?.transaction.message.accountKeys[0], { signer: true, writable: true })
  t.equal(
    (await connection.getTransactions([sent, sent])).length,
    2,
    'the history is requested in batches',
  )
  t.match(await connection.getSignaturesForAddress(to.publicKey), [{ signature: sent, err: null }])
  const block = await connection.getBlock(found?.slot ?? 0, { maxSupportedTransactionVersion: 0 })
  t.ok(block?.transactions.some(({ transaction: { signatures } }) => signatures[0] === sent))

  const poor = Keypair.generate()
  const wrong = new Transaction({ blockhash, lastValidBlockHeight, feePayer: poor.publicKey })
  wrong.add(
    SystemProgram.transfer({
      fromPubkey: poor.publicKey,
      toPubkey: to.publicKey,
      lamports: 1,
    }),
  )
  await t.rejects(
    connection.sendTransaction(wrong, [poor]),
    /Attempt to debit an account but found no record of a prior credit/,
  )
  const tooMuch = SystemProgram.transfer({
    fromPubkey: to.publicKey,
    toPubkey: payer.publicKey,
    lamports: 2 * LAMPORTS,
  })
  const message = new TransactionMessage({
    payerKey: payer.publicKey,
    recentBlockhash: blockhash,
    instructions: [ComputeBudgetProgram.setComputeUnitPrice({ microLamports: 1 }), tooMuch],
  })
  const versioned = new VersionedTransaction(message.compileToV0Message())
  versioned.sign([payer, to])
  await t.rejects(
    connection.sendTransaction(versioned),
    /Error processing Instruction 1: custom program error: 0x1/,
  )
  const failed = await connection.sendTransaction(versioned, { skipPreflight: true })
  const status = async () => (await connection.getSignatureStatuses([failed])).value[0]
  await until('it is in a block', async () => isDecided((await status())?.confirmationStatus))
  t.strictSame((await status())?.err, { InstructionError: [1, { Custom: 1 }] })

  const airdrop = await connection.requestAirdrop(poor.publicKey, LAMPORTS_PER_SOL)
  t.equal(bs58.decode(airdrop).length, 64)
  t.equal(await connection.getMinimumBalanceForRentExemption(165), 1_488_440)
  t.equal(new PublicKey(await connection.getGenesisHash()).toBytes().length, 32)
  const epoch = await connection.getEpochInfo()
  t.ok(epoch.absoluteSlot > 0 && (epoch.transactionCount ?? 0) > 0)
  const fees = await connection.getRecentPrioritizationFees()
  t.ok(fees.length > 0 && fees.length <= 150)
  await until('the failed transaction counts with its price', async () => {
    const lockedWritableAccounts = [to.publicKey]
    const locked = await connection.getRecentPrioritizationFees({ lockedWritableAccounts })
    return locked.some(({ prioritizationFee }) => prioritizationFee === 1)
  })
  const asked = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"jsonrpc":"2.0","id":1,"method":"getTipPercentiles"}',
  })
  t.match(await asked.json(), { result: { value: [{ group: 'lander' }] } })
  const wallet = new PublicKey(description.samples['wallet'] ?? '')
  const mint = new PublicKey(description.samples['mint'] ?? '')
  const owned = await connection.getTokenAccountsByOwner(wallet, { mint })
  t.equal(owned.value[0]?.pubkey.toBase58(), description.samples['tokenAccount'])
  const parsedOwned = await connection.getParsedTokenAccountsByOwner(wallet, { mint })
  const pubkey = new PublicKey(description.samples['tokenAccount'] ?? '')
  const indexed = await connection.getParsedAccountInfo(pubkey)
  const infoOf = (data: unknown) =>
    (data as { parsed: { info: Record<string, unknown> } }).parsed.info
  t.match(infoOf(parsedOwned.value[0]?.account.data), {
    ...infoOf(indexed.value?.data),
    // The traffic changes it.
    tokenAmount: { amount: String, decimals: 6, uiAmount: Number, uiAmountString: String },
  })
  const program = new PublicKey(description.samples['program'] ?? '')
  const filters = [{ dataSize: 165 }, { memcmp: { offset: 0, bytes: mint.toBase58() } }]
  const accounts = await connection.getProgramAccounts(program, { filters })
  t.ok(accounts.length > 20 && accounts.every(({ account }) => account.data.length === 165))
  t.ok((await connection.getSlot()) >= (found?.slot ?? Infinity))
  t.ok((await connection.getBlockHeight()) > 0)
  t.match(await connection.getVersion(), { 'solana-core': /^\d+\.\d+\.\d+$/ })
}

/** The same by kit, with bigint numbers. */
const checkKit = async (t: Test, { url, description }: Deployment): Promise<void> => {
  const rpc = createSolanaRpc(url)
  const secret = bs58.decode(description.samples['payerSecretKey'] ?? '')
  const payer = await createKeyPairSignerFromBytes(secret)
  const to = await generateKeyPairSigner()
  t.equal(await rpc.getHealth().send(), 'ok')
  const { value: latest } = await rpc.getLatestBlockhash().send()
  t.equal((await rpc.isBlockhashValid(latest.blockhash).send()).value, true)
  const data = Buffer.alloc(12)
  data.writeUInt32LE(2)
  data.writeBigUInt64LE(BigInt(LAMPORTS), 4)
  const transfer = {
    programAddress: address('11111111111111111111111111111111'),
    accounts: [
      { address: payer.address, role: 3 as const, signer: payer },
      { address: to.address, role: 1 as const },
    ],
    data,
  }
  const message = pipe(
    createTransactionMessage({ version: 0 }),
    empty => setTransactionMessageFeePayerSigner(payer, empty),
    paid => setTransactionMessageLifetimeUsingBlockhash(latest, paid),
    timed => appendTransactionMessageInstructions([transfer], timed),
  )
  const signed = await signTransactionMessageWithSigners(message)
  const wire = getBase64EncodedWireTransaction(signed)
  const sent = await rpc.sendTransaction(wire, { encoding: 'base64' }).send()
  t.equal(sent, getSignatureFromTransaction(signed))
  await until('it is confirmed', async () => {
    const { value } = await rpc.getSignatureStatuses([sent]).send()
    return isDecided(value[0]?.confirmationStatus)
  })
  await until('the index shows it', async () => {
    return (await rpc.getBalance(to.address).send()).value === lamports(BigInt(LAMPORTS))
  })
  const config = { commitment: 'confirmed', encoding: 'json' } as const
  const found = await rpc
    .getTransaction(sent, { ...config, maxSupportedTransactionVersion: 0 })
    .send()
  t.match(found, { meta: { err: null, fee: 5_000n }, version: 0 })
  t.equal(await rpc.getTransaction(signature('1'.repeat(64)), config).send(), null)
  await t.rejects(rpc.sendTransaction(wire, { encoding: 'base64' }).send(), {
    context: { __code: -32002 },
    cause: { message: /already been processed/ },
  })
  t.equal((await rpc.getEpochInfo().send()).slotsInEpoch, 432_000n)
  t.equal(typeof (await rpc.getMinimumBalanceForRentExemption(0n).send()), 'bigint')
}

/**
 * Clients without a commitment: their blockhash is of a finalized block, which preflight, at the
 * finalized block too, knows; and no transaction that landed is reported as expired.
 */
const checkDefaults = async (t: Test, { url, description }: Deployment): Promise<void> => {
  const connection = new Connection(url)
  const rpc = createSolanaRpc(url)
  const ask = async <T>(method: string, ...params: unknown[]): Promise<T> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const headers = { 'content-type': 'application/json' }
    const reply = (await (await fetch(url, { method: 'POST', headers, body })).json()) as {
      result?: T
      error?: { message: string }
    }
    if (reply.result === undefined) throw new Error(`${method}: ${reply.error?.message}`)
    return reply.result
  }
  type Latest = { context: { slot: number }; value: { blockhash: string } }
  await until('finality is behind the tip', async () => {
    const [final, tip] = [await connection.getSlot(), await connection.getSlot('confirmed')]
    return final < tip - 20
  })
  const payer = Keypair.fromSecretKey(bs58.decode(description.samples['payerSecretKey'] ?? ''))
  const to = Keypair.generate().publicKey
  const pay = (blockhash: string, amount: number): Transaction =>
    new Transaction({ recentBlockhash: blockhash, feePayer: payer.publicKey }).add(
      SystemProgram.transfer({ fromPubkey: payer.publicKey, toPubkey: to, lamports: amount }),
    )
  const signed = (blockhash: string, amount: number): string => {
    const transaction = pay(blockhash, amount)
    transaction.sign(payer)
    return transaction.serialize().toString('base64')
  }
  const { blockhash, ...latest } = await connection.getLatestBlockhash()
  const first = await connection.sendTransaction(pay(blockhash, LAMPORTS), [payer])
  const confirmed = connection.confirmTransaction(
    { signature: first, blockhash, ...latest },
    'finalized',
  )
  for (let nth = 1; nth <= 5; nth++) {
    const { value } = await rpc.getLatestBlockhash().send()
    const wire = signed(value.blockhash, LAMPORTS + nth)
    const encoded = wire as Parameters<typeof rpc.sendTransaction>[0]
    await rpc.sendTransaction(encoded, { encoding: 'base64' }).send()
    // As clients in other languages call it.
    const plain = await ask<Latest>('getLatestBlockhash')
    await ask('sendTransaction', signed(plain.value.blockhash, 2 * LAMPORTS + nth), {
      encoding: 'base64',
    })
    const { context } = await ask<Latest>('isBlockhashValid', plain.value.blockhash)
    t.ok(context.slot >= plain.context.slot, 'one block for the slot and the hash')
    const height = await connection.getBlockHeight()
    t.ok(height <= latest.lastValidBlockHeight, 'the height of the finalized block')
  }
  t.match((await confirmed).value, { err: null })
  closeWeb3Socket(connection)
  const tip = await connection.getLatestBlockhash('confirmed')
  const newest = signed(tip.blockhash, 3 * LAMPORTS)
  await t.rejects(ask('sendTransaction', newest, { encoding: 'base64' }), /Blockhash not found/)
  const atTip = { encoding: 'base64', preflightCommitment: 'confirmed' }
  t.type(await ask('sendTransaction', newest, atTip), 'string')
}

/** Replies while the upstream fails. */
const checkFailures = async (t: Test, { url, description }: Deployment): Promise<void> => {
  const control = async (order: object): Promise<unknown> => {
    const upstream = `${description.upstreamRpcUrl}/_control`
    return (await fetch(upstream, { method: 'POST', body: JSON.stringify(order) })).json()
  }
  const post = async (body: string): Promise<unknown> => {
    const headers = { 'content-type': 'application/json' }
    return (await fetch(url, { method: 'POST', headers, body })).json()
  }
  const call = (id: number, method: string): string =>
    `{"jsonrpc":"2.0","id":${id},"method":"${method}"}`
  const batch = `[${call(1, 'getGenesisHash')},${call(2, 'getHealth')}]`
  const expect = async (order: object, message: RegExp): Promise<void> => {
    await control({ ...order, times: 1 })
    t.match(
      await post(batch),
      [
        { id: 1, error: { code: -32603, message } },
        { id: 2, result: 'ok' },
      ],
      JSON.stringify(order),
    )
  }
  await expect({ reset: 'after' }, /did not answer/)
  await expect({ status: 503, body: 'busy', contentType: 'text/plain' }, /HTTP status 503/)
  await expect({ status: 429, body: '{}' }, /HTTP status 429/)
  await control({ clear: true })
  t.match(await post(batch), [
    { id: 1, result: String },
    { id: 2, result: 'ok' },
  ])
  t.match(await post(call(3, 'nope')), { id: 3, error: { code: -32601 } })
  // The upstream receives only the call, unchanged.
  const spaced = '{ "jsonrpc":"2.0" ,"id":1e0,"method":"getEpochInfo","params":[ ] }'
  await control({ clear: true })
  await post(spaced)
  const { received } = (await (await fetch(`${description.upstreamRpcUrl}/_control`)).json()) as {
    received: { body: string; headers: Record<string, string> }[]
  }
  const taken = received.find(({ body }) => body !== '')
  t.equal(taken?.body, spaced)
  t.notMatch(JSON.stringify(taken), /slt_/)
}

// TowerBFT, with finality well behind the tip: other tests of clients have an Alpenglow chain.
t.test('send, confirm and read back through the RPC URL', async t => {
  const chain = ['--slot-ms', '100', '--finalized-after-slots', '32']
  const deployment = await startDeployment(t, {
    args: ['--edges', '1', '--traffic', '5', ...chain],
  })
  await t.test('web3.js 1.x', t => checkWeb3(t, deployment))
  await t.test('kit', t => checkKit(t, deployment))
  await t.test('clients without a commitment', t => checkDefaults(t, deployment))
  await t.test('failures of the upstream', t => checkFailures(t, deployment))
})
