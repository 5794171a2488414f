// npm install @solana/web3.js@1
import { Connection } from '@solana/web3.js'

const connection = new Connection('SLOTLINE_RPC_URL', 'confirmed')
const { blockhash, lastValidBlockHeight } = await connection.getLatestBlockhash()
console.log(blockhash, lastValidBlockHeight)
