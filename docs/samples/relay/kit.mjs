// npm install @solana/kit @solana-program/system @solana-program/token
// KEYPAIR is a file of solana-keygen.
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
import { getCreateAssociatedTokenIdempotentInstructionAsync } from '@solana-program/token'

const payer = await createKeyPairSignerFromBytes(
  Uint8Array.from(JSON.parse(readFileSync(process.env.KEYPAIR, 'utf8'))),
)
const rpc = createSolanaRpc('SLOTLINE_RPC_URL')

const pay = (destination, amount) =>
  getTransferSolInstruction({ source: payer, destination, amount })
// In place of this, what your application does: here, an account for wrapped SOL, if absent.
const application = await getCreateAssociatedTokenIdempotentInstructionAsync({
  payer,
  owner: payer.address,
  mint: 'So11111111111111111111111111111111111111112',
})

const { value: latest } = await rpc.getLatestBlockhash().send()
const message = pipe(
  createTransactionMessage({ version: 0 }),
  empty => setTransactionMessageFeePayerSigner(payer, empty),
  paid => setTransactionMessageLifetimeUsingBlockhash(latest, paid),
  timed =>
    appendTransactionMessageInstructions(
      [
        application,
        pay('SLOTLINE_SERVICE_TIP_ACCOUNT', SLOTLINE_SERVICE_TIP_LAMPORTS),
        pay('SLOTLINE_ENGINE_TIP_ACCOUNT', SLOTLINE_ENGINE_TIP_LAMPORTS),
      ],
      timed,
    ),
)
const transaction = getBase64EncodedWireTransaction(
  await signTransactionMessageWithSigners(message),
)
const response = await fetch('SLOTLINE_RPC_URL/relay-bundle', {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'sendBundle',
    params: [[transaction], { encoding: 'base64' }],
  }),
})
console.log(await response.text())
