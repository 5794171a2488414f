// npm install @solana/kit
import { createSolanaRpc } from '@solana/kit'

const rpc = createSolanaRpc('SLOTLINE_RPC_URL')
const { value } = await rpc.getLatestBlockhash().send()
console.log(value.blockhash, value.lastValidBlockHeight)
