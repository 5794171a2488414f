// npm install @solana/web3.js@1; WALLET is an address, whose token accounts are listed.
import { Connection } from '@solana/web3.js'

const connection = new Connection('SLOTLINE_RPC_URL', 'confirmed')
const filter = { programId: 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA' }

/** Yields the accounts of all pages. */
async function* accountsOf(wallet) {
  let paginationKey = null
  do {
    const page = { encoding: 'base64', limit: 1000, paginationKey }
    // web3.js has no function for this method.
    const { result, error } = await connection._rpcRequest('getTokenAccountsByOwnerV2', [
      wallet,
      filter,
      page,
    ])
    if (error) throw new Error(error.message)
    yield* result.value.accounts
    // The last page has no key.
    paginationKey = result.value.paginationKey
  } while (paginationKey !== null)
}

for await (const { pubkey } of accountsOf(process.env.WALLET)) console.log(pubkey)
