// npm install @solana/kit @solana-program/system; KEYPAIR is a file of solana-keygen.
import { readFileSync } from 'node:fs'
import {
  appendTransactionMessageInstructions,
  createKeyPairSignerFromBytes,
  createSolanaRpc,
  createTransactionMessage,
  getBase64EncodedWireTransaction,
  pipe,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from '@solana/kit'
import { getTransferSolInstruction } from '@solana-program/system'

const payer = await createKeyPairSignerFromBytes(
  Uint8Array.from(JSON.parse(readFileSync(process.env.KEYPAIR, 'utf8'))),
)
const rpc = createSolanaRpc('SLOTLINE_RPC_URL')
const lander = createSolanaRpc('SLOTLINE_RPC_URL/lander')

const tip = getTransferSolInstruction({
  source: payer,
  destination: 'SLOTLINE_LANDER_TIP_ACCOUNT',
  amount: SLOTLINE_LANDER_TIP_LAMPORTS,
})
const { value: latest } = await rpc.getLatestBlockhash().send()
const message = pipe(
  createTransactionMessage({ version: 0 }),
  empty => setTransactionMessageFeePayerSigner(payer, empty),
  paid => setTransactionMessageLifetimeUsingBlockhash(latest, paid),
  // Add your own instructions before the tip.
  timed => appendTransactionMessageInstructions([tip], timed),
)
const transaction = getBase64EncodedWireTransaction(
  await signTransactionMessageWithSigners(message),
)
console.log(await lander.sendTransaction(transaction, { encoding: 'base64' }).send())
