// npm install @solana/web3.js@1; KEYPAIR is a file of solana-keygen.
import { readFileSync } from 'node:fs'
import { Connection, Keypair, PublicKey, SystemProgram, Transaction } from '@solana/web3.js'

const payer = Keypair.fromSecretKey(
  Uint8Array.from(JSON.parse(readFileSync(process.env.KEYPAIR, 'utf8'))),
)
const rpc = new Connection('SLOTLINE_RPC_URL', 'confirmed')
const lander = new Connection('SLOTLINE_RPC_URL/lander', 'confirmed')

const tip = SystemProgram.transfer({
  fromPubkey: payer.publicKey,
  toPubkey: new PublicKey('SLOTLINE_LANDER_TIP_ACCOUNT'),
  lamports: SLOTLINE_LANDER_TIP_LAMPORTS,
})
const { blockhash, lastValidBlockHeight } = await rpc.getLatestBlockhash()
// Add your own instructions before the tip.
const transaction = new Transaction({ feePayer: payer.publicKey, blockhash, lastValidBlockHeight })
transaction.add(tip).sign(payer)
console.log(await lander.sendRawTransaction(transaction.serialize(), { skipPreflight: true }))
