// npm install @solana/web3.js@1; KEYPAIR is a file of solana-keygen.
import { readFileSync } from 'node:fs'
import * as web3 from '@solana/web3.js'

const payer = web3.Keypair.fromSecretKey(
  Uint8Array.from(JSON.parse(readFileSync(process.env.KEYPAIR, 'utf8'))),
)
const connection = new web3.Connection('SLOTLINE_RPC_URL', 'confirmed')

const relay = async (method, params) => {
  const response = await fetch('SLOTLINE_RPC_URL/relay-bundle', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const { result, error } = await response.json()
  if (error) throw new Error(error.message)
  return result
}

// Traffic of one account slows its writers down: pay to another one each time.
const tips = await relay('getServiceTipConfig', [])
const oneOf = accounts => accounts[Math.floor(Math.random() * accounts.length)]
const pay = (accounts, lamports) =>
  web3.SystemProgram.transfer({
    fromPubkey: payer.publicKey,
    toPubkey: new web3.PublicKey(oneOf(accounts)),
    lamports,
  })
// In place of this, what your application does: here, an account for wrapped SOL, if absent.
const token = new web3.PublicKey('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA')
const associated = new web3.PublicKey('ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL')
const mint = new web3.PublicKey('So11111111111111111111111111111111111111112')
const [account] = web3.PublicKey.findProgramAddressSync(
  [payer.publicKey.toBytes(), token.toBytes(), mint.toBytes()],
  associated,
)
const application = new web3.TransactionInstruction({
  programId: associated,
  keys: [
    { pubkey: payer.publicKey, isSigner: true, isWritable: true },
    { pubkey: account, isSigner: false, isWritable: true },
    ...[payer.publicKey, mint, web3.SystemProgram.programId, token].map(pubkey => ({
      pubkey,
      isSigner: false,
      isWritable: false,
    })),
  ],
  data: Buffer.from([1]),
})

const { blockhash, lastValidBlockHeight } = await connection.getLatestBlockhash()
const sign = (...instructions) => {
  const transaction = new web3.Transaction({
    feePayer: payer.publicKey,
    blockhash,
    lastValidBlockHeight,
  }).add(...instructions)
  transaction.sign(payer)
  return transaction.serialize().toString('base64')
}
// One transaction has both tips and a call of a program. All land in this order, or none.
const bundle = [
  sign(application),
  sign(
    application,
    pay(tips.serviceTipAccounts, tips.serviceTipFloorLamports),
    pay(tips.bundleEngineTipAccounts, tips.bundleEngineTipFloorLamports),
  ),
]
console.log(await relay('sendBundle', [bundle, { encoding: 'base64' }]))
