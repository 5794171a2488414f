import type { Verdict } from '../../native/transactions.js'
import type { Submission } from './submission.js'

/** The first signature of each transaction that can be read, and the blockhash that it names. */
export const membersOf = ({
  members,
}: Pick<Verdict, 'members'>): Pick<Submission, 'signatures' | 'blockhashes'> => {
  const known = members.filter(({ signature }) => signature !== undefined)
  return {
    signatures: known.map(({ signature }) => signature ?? ''),
    blockhashes: known.map(({ blockhash }) => blockhash ?? null),
  }
}
