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
const relay = createSolanaRpc('SLOTLINE_RPC_URL/relay-bundle')

// Traffic of one account slows its writers down: pay to another one each time.
const tips = await relay.getServiceTipConfig().send()
const oneOf = accounts => accounts[Math.floor(Math.random() * accounts.length)]
const pay = (accounts, amount) =>
  getTransferSolInstruction({ source: payer, destination: oneOf(accounts), amount })
// In place of this, what your application does: here, an account for wrapped SOL, if absent.
const application = await getCreateAssociatedTokenIdempotentInstructionAsync({
  payer,
  owner: payer.address,
  mint: 'So11111111111111111111111111111111111111112',
})

const { value: latest } = await rpc.getLatestBlockhash().send()
const sign = async (...instructions) => {
  const message = pipe(
    createTransactionMessage({ version: 0 }),
    empty => setTransactionMessageFeePayerSigner(payer, empty),
    paid => setTransactionMessageLifetimeUsingBlockhash(latest, paid),
    timed => appendTransactionMessageInstructions(instructions, timed),
  )
  return getBase64EncodedWireTransaction(await signTransactionMessageWithSigners(message))
}
// One transaction has both tips and a call of a program. All land in this order, or none.
const bundle = [
  await sign(application),
  await sign(
    application,
    pay(tips.serviceTipAccounts, tips.serviceTipFloorLamports),
    pay(tips.bundleEngineTipAccounts, tips.bundleEngineTipFloorLamports),
  ),
]
console.log(await relay.sendBundle(bundle, { encoding: 'base64' }).send())
