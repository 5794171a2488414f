// npm install @solana/web3.js@1
import { Connection, PublicKey } from '@solana/web3.js'

const connection = new Connection('SLOTLINE_RPC_URL', {
  commitment: 'confirmed',
  wsEndpoint: 'SLOTLINE_WS_URL',
})
const program = new PublicKey('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA')

// web3.js reconnects by itself and sends the same parameters again: `from` is read at that time.
// Each subscription has a cursor of its own.
let cursor
const cursors = { cursor: true, from: { toJSON: () => cursor } }
connection.onProgramAccountChange(
  program,
  ({ accountId }, context) => {
    cursor = context.cursor
    console.log(`${context.slot} ${accountId.toBase58()}`)
  },
  { commitment: 'confirmed', ...cursors },
)

// web3.js passes notifications that it does not know to listeners of its socket only.
connection._rpcWebSocket.on('gapNotification', ({ result }) => {
  cursor = result.cursor
  const { from, to, reason } = result.gap
  console.error(`slots ${from} to ${to} may be missing: ${reason}`)
})
