// umi sends and confirms with every commitment. Prints TAP.
//
// Arguments: the RPC URL, the WebSocket URL, the secret key of a payer as a JSON array, and the
// folder in which the packages are installed.
import { createRequire } from 'node:module'
import { join } from 'node:path'

const [rpcUrl, wsEndpoint, secret, folder] = process.argv.slice(2)
const require = createRequire(join(folder, 'package.json'))
const umi = require('@metaplex-foundation/umi')
const { createUmi } = require('@metaplex-foundation/umi-bundle-defaults')
const { Connection, SystemProgram } = require('@solana/web3.js')

const LAMPORTS = 1_000_000_000
const COMMITMENTS = ['processed', 'confirmed', 'finalized']

for (const [index, commitment] of COMMITMENTS.entries()) {
  const context = createUmi(new Connection(rpcUrl, { wsEndpoint, commitment }), commitment)
  const keypair = context.eddsa.createKeypairFromSecretKey(Uint8Array.from(JSON.parse(secret)))
  context.use(umi.keypairIdentity(keypair))
  const data = Buffer.alloc(12)
  data.writeUInt32LE(2)
  data.writeBigUInt64LE(BigInt(LAMPORTS), 4)
  const to = umi.generateSigner(context).publicKey
  const instruction = {
    programId: umi.publicKey(SystemProgram.programId.toBase58()),
    keys: [
      { pubkey: keypair.publicKey, isSigner: true, isWritable: true },
      { pubkey: to, isSigner: false, isWritable: true },
    ],
    data: Uint8Array.from(data),
  }
  const builder = umi.transactionBuilder([
    { instruction, signers: [context.identity], bytesCreatedOnChain: 0 },
  ])
  const { result } = await builder.sendAndConfirm(context, {
    send: { preflightCommitment: commitment },
    confirm: { commitment },
  })
  const state = result.value.err === null ? 'ok' : 'not ok'
  console.log(`${state} ${index + 1} - umi confirms at ${commitment}`)
}
console.log(`1..${COMMITMENTS.length}`)
process.exit()
