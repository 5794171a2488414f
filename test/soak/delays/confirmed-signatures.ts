// Kit has no listener yet for a notification that it reads together with the reply, and a busy
// machine has it read both late: so only the soak runs this, with nothing beside it.
import { createSolanaRpcSubscriptions, type Signature } from '@solana/kit'
import {
  Connection,
  Keypair,
  sendAndConfirmTransaction,
  SystemProgram,
  Transaction,
} from '@solana/web3.js'
import bs58 from 'bs58'
import { setImmediate as turn } from 'node:timers/promises'
import { closeWeb3Socket } from '../../fixtures/close-web3-socket.js'
import { startDeployment } from '../../fixtures/processes/deployment.js'
import { soakTest } from '../../fixtures/soak.js'

const TRIES = 60
/** Longer than any answer takes; a notification that is lost never comes. */
const WAIT_MS = 10_000
const LAMPORTS = 1_000_000

/** The next value. */
const first = async <T>(values: AsyncIterable<T>): Promise<T> => {
  for await (const value of values) return value
  throw new Error('it ended')
}

soakTest('kit hears of a signature that is confirmed already', {}, async t => {
  const { description } = await startDeployment(t, {
    args: ['--edges', '1', '--traffic', '20', '--slot-ms', '100'],
  })
  const [{ rpcUrl, wsUrl }] = description.locations
  const connection = new Connection(rpcUrl, { commitment: 'confirmed', wsEndpoint: wsUrl })
  const payer = Keypair.fromSecretKey(bs58.decode(description.samples['payerSecretKey'] ?? ''))
  const toPubkey = Keypair.generate().publicKey
  const transfer = { fromPubkey: payer.publicKey, toPubkey, lamports: LAMPORTS }
  const transaction = new Transaction().add(SystemProgram.transfer(transfer))
  const signature = await sendAndConfirmTransaction(connection, transaction, [payer])
  closeWeb3Socket(connection)

  const subscriptions = createSolanaRpcSubscriptions(wsUrl)
  for (let nth = 0; nth < TRIES; nth++) {
    // Kit shares a subscription with an equal one that was not aborted in an earlier turn.
    const ended = new AbortController()
    const abortSignal = AbortSignal.any([ended.signal, AbortSignal.timeout(WAIT_MS)])
    const outcomes = await subscriptions
      .signatureNotifications(signature as Signature, { commitment: 'confirmed' })
      .subscribe({ abortSignal })
    t.equal((await first(outcomes)).value.err, null, `try ${nth}`)
    ended.abort()
    await turn()
  }
})
