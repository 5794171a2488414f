import {
  AccountRole,
  address,
  appendTransactionMessageInstruction,
  assertIsTransactionWithBlockhashLifetime,
  assertIsSendableTransaction,
  createKeyPairSignerFromBytes,
  createSolanaRpc,
  createSolanaRpcSubscriptions,
  createTransactionMessage,
  getSignatureFromTransaction,
  pipe,
  sendAndConfirmTransactionFactory,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
  type Signature,
} from '@solana/kit'
import {
  Connection,
  Keypair,
  PublicKey,
  sendAndConfirmTransaction,
  SystemProgram,
  Transaction,
} from '@solana/web3.js'
import bs58 from 'bs58'
import t, { type Test } from 'tap'
import { closeWeb3Socket } from '../fixtures/close-web3-socket.js'
import { killEdge } from '../fixtures/processes/kill-edge.js'
import { sharedBusySandbox } from '../fixtures/processes/shared-sandbox.js'
import type { Deployment } from '../fixtures/processes/deployment.js'
import { until } from '../fixtures/until.js'

const TOKEN = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
const SYSTEM = '1'.repeat(32)
const LAMPORTS = 1_000_000_000

/** Calls of one listener, and its last argument. */
const createCounter = <T>() => {
  const calls: T[] = []
  return {
    calls,
    listen: (value: T): void => void calls.push(value),
    more: async (what: string): Promise<void> => {
      const before = calls.length
      await until(`more ${what}`, () => calls.length > before)
    },
  }
}

const checkWeb3 = async (t: Test, deployment: Deployment): Promise<void> => {
  const { url, description } = deployment
  const { samples } = description
  const payer = Keypair.fromSecretKey(bs58.decode(samples['payerSecretKey'] ?? ''))
  // Without a WebSocket endpoint, web3.js uses the next port.
  const connection = new Connection(url, 'confirmed')
  const target = Keypair.generate().publicKey
  const send = (): Promise<string> => {
    const move = { fromPubkey: payer.publicKey, toPubkey: target, lamports: LAMPORTS }
    const transaction = new Transaction().add(SystemProgram.transfer(move))
    return sendAndConfirmTransaction(connection, transaction, [payer])
  }

  const accounts = createCounter<number>()
  const others = createCounter<number>()
  const programs = createCounter<string>()
  const logs = createCounter<string>()
  const slots = createCounter<number>()
  const roots = createCounter<number>()
  const ids = {
    account: connection.onAccountChange(target, ({ lamports }) => accounts.listen(lamports)),
    // With another commitment it is another subscription to the client.
    other: connection.onAccountChange(target, ({ lamports }) => others.listen(lamports), {
      commitment: 'finalized',
    }),
    program: connection.onProgramAccountChange(
      new PublicKey(TOKEN),
      ({ accountId }) => programs.listen(accountId.toBase58()),
      { filters: [{ dataSize: 165 }] },
    ),
    logs: connection.onLogs(target, ({ signature }) => logs.listen(signature)),
    slot: connection.onSlotChange(({ slot }) => slots.listen(slot)),
    root: connection.onRootChange(root => roots.listen(root)),
  }
  await slots.more('slots')
  await programs.more('token accounts')
  const signature = await send()
  t.equal(bs58.decode(signature).length, 64)
  await until('both are called', () => accounts.calls.length > 0 && others.calls.length > 0)
  t.strictSame([accounts.calls[0], others.calls[0]], [LAMPORTS, LAMPORTS])
  await until('its logs', () => logs.calls.includes(signature))
  await roots.more('roots')
  for (let nth = 0; nth < CONFIRMED_TRIES; nth++) {
    const outcomes: unknown[] = []
    connection.onSignature(signature, ({ err }) => outcomes.push(err), 'confirmed')
    await until('its outcome', () => outcomes.length > 0)
    t.strictSame(outcomes, [null], `confirmed already, try ${nth}`)
  }

  // It reconnects and subscribes again.
  await killEdge(deployment)
  await slots.more('slots of another edge')
  await send()
  await until('the second change', () => accounts.calls.includes(2 * LAMPORTS))
  await until('of both', () => others.calls.includes(2 * LAMPORTS))

  await connection.removeAccountChangeListener(ids.account)
  await connection.removeAccountChangeListener(ids.other)
  await connection.removeProgramAccountChangeListener(ids.program)
  await connection.removeOnLogsListener(ids.logs)
  await send()
  t.notOk(accounts.calls.includes(3 * LAMPORTS))
  t.equal(new Set(accounts.calls).size, accounts.calls.length, 'each change once')
  await connection.removeSlotChangeListener(ids.slot)
  await connection.removeRootChangeListener(ids.root)
  closeWeb3Socket(connection)
}

/** Data of a System transfer. */
const transferData = (lamports: bigint): Uint8Array => {
  const data = Buffer.alloc(12)
  data.writeUInt32LE(2, 0)
  data.writeBigUInt64LE(lamports, 4)
  return data
}

/** How often web3.js asks for a signature that is confirmed already. */
const CONFIRMED_TRIES = 40

/** The next value. */
const first = async <T>(values: AsyncIterable<T>): Promise<T> => {
  for await (const value of values) return value
  throw new Error('it ended')
}

const checkKit = async (t: Test, deployment: Deployment): Promise<void> => {
  const { description } = deployment
  const [{ rpcUrl, wsUrl }] = description.locations
  const { samples } = description
  const rpc = createSolanaRpc(rpcUrl)
  const rpcSubscriptions = createSolanaRpcSubscriptions(wsUrl)
  const payer = await createKeyPairSignerFromBytes(bs58.decode(samples['payerSecretKey'] ?? ''))
  const target = address(Keypair.generate().publicKey.toBase58())
  const sendAndConfirm = sendAndConfirmTransactionFactory({ rpc, rpcSubscriptions })
  const abort = new AbortController()
  const { signal } = abort
  const options = { abortSignal: signal }

  const send = async (): Promise<Signature> => {
    const { value: blockhash } = await rpc.getLatestBlockhash().send()
    const message = pipe(
      createTransactionMessage({ version: 0 }),
      message => setTransactionMessageFeePayerSigner(payer, message),
      message => setTransactionMessageLifetimeUsingBlockhash(blockhash, message),
      message =>
        appendTransactionMessageInstruction(
          {
            programAddress: address(SYSTEM),
            accounts: [
              { address: payer.address, role: AccountRole.WRITABLE_SIGNER },
              { address: target, role: AccountRole.WRITABLE },
            ],
            data: transferData(BigInt(LAMPORTS)),
          },
          message,
        ),
    )
    const transaction = await signTransactionMessageWithSigners(message)
    assertIsSendableTransaction(transaction)
    assertIsTransactionWithBlockhashLifetime(transaction)
    await sendAndConfirm(transaction, { commitment: 'confirmed' })
    return getSignatureFromTransaction(transaction)
  }

  const accounts = await rpcSubscriptions
    .accountNotifications(target, { commitment: 'confirmed', encoding: 'base64' })
    .subscribe(options)
  const logs = await rpcSubscriptions.logsNotifications({ mentions: [target] }).subscribe(options)
  const programs = await rpcSubscriptions
    .programNotifications(address(TOKEN), { encoding: 'base64', commitment: 'confirmed' })
    .subscribe(options)
  const slots = await rpcSubscriptions.slotNotifications().subscribe(options)
  const roots = await rpcSubscriptions.rootNotifications().subscribe(options)
  // Kit does not buffer values before the first read.
  const received = [
    first(accounts),
    first(logs),
    first(programs),
    first(slots),
    first(roots),
  ] as const

  const signature = await send()
  const [account, log, program, slot, root] = await Promise.all(received)
  t.equal(typeof account.context.slot, 'bigint')
  t.equal(account.value.lamports, BigInt(LAMPORTS))
  t.equal(log.value.signature, signature)
  t.equal(log.value.err, null)
  t.equal(program.value.account.owner, TOKEN)
  t.ok(slot.slot > slot.parent)
  t.equal(typeof root, 'bigint')

  // An unexpected close is an error to every reader.
  const more = await rpcSubscriptions.slotNotifications().subscribe(options)
  const failed = t.rejects(
    (async () => {
      for await (const _ of more);
    })(),
  )
  await killEdge(deployment)
  await failed
  abort.abort()
  t.equal(typeof (await send()), 'string', 'another socket does')
}

t.test('subscriptions of real clients work over reconnects', async t => {
  const deployment = await sharedBusySandbox()
  await t.test('web3.js', async t => checkWeb3(t, deployment))
  await t.test('kit', async t => checkKit(t, deployment))
})
