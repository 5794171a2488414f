// npm install @solana/web3.js@1
import { Connection } from '@solana/web3.js'

const connection = new Connection('SLOTLINE_RPC_URL', {
  commitment: 'confirmed',
  wsEndpoint: 'SLOTLINE_WS_URL',
})
connection.onSlotChange(({ slot, root }) => console.log(slot, root))
