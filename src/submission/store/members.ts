import type { Verdict } from '../../native/transactions.js'
import type { Submission } from './submission.js'

type Members = Pick<Submission, 'signatures' | 'blockhashes' | 'nonces' | 'tips'>

/** Lamports as a number, which is exact to 9 million SOL. */
const MAX_LAMPORTS = BigInt(Number.MAX_SAFE_INTEGER)

/** Of the transactions that can be read: first signatures, how long they may land, and tips. */
export const membersOf = ({ members }: Pick<Verdict, 'members'>): Members => {
  const known = members.filter(({ signature }) => signature !== undefined)
  const nonces = known.map(({ nonce }) =>
    nonce === undefined ? null : { account: nonce.account ?? null, value: nonce.value },
  )
  const tips = known.map(({ paid }) =>
    paid.map(({ account, lamports }) => ({
      account,
      lamports: Number(lamports > MAX_LAMPORTS ? MAX_LAMPORTS : lamports),
    })),
  )
  return {
    signatures: known.map(({ signature }) => signature ?? ''),
    blockhashes: known.map(({ blockhash }) => blockhash ?? null),
    ...(nonces.some(nonce => nonce !== null) && { nonces }),
    ...(tips.some(({ length }) => length > 0) && { tips }),
  }
}
