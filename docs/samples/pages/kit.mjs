// npm install @solana/kit; WALLET is an address, whose token accounts are listed.
import { address, createSolanaRpc } from '@solana/kit'

const rpc = createSolanaRpc('SLOTLINE_RPC_URL')
const filter = { programId: address('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA') }

/** Yields the accounts of all pages. */
async function* accountsOf(wallet) {
  let paginationKey = null
  do {
    const page = { encoding: 'base64', limit: 1000, paginationKey }
    const { value } = await rpc.getTokenAccountsByOwnerV2(wallet, filter, page).send()
    yield* value.accounts
    // The last page has no key.
    paginationKey = value.paginationKey
  } while (paginationKey !== null)
}

for await (const { pubkey } of accountsOf(address(process.env.WALLET))) console.log(pubkey)
