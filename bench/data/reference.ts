import assert from 'node:assert/strict'
import bs58 from 'bs58'
import type { Account } from './data.js'

/** JSON in which numbers over 2^53 are bigints: u64 fields must not be compared as doubles. */
export type Json = unknown

const LARGE_NUMBER = /(?<=[:[,])\d{16,}(?=[,\]}])/g

/**
 * Reads JSON whose strings hold no run of 16 digits after a colon, which no reply of the bench has.
 */
export const parseExactly = (text: string): Json =>
  JSON.parse(text.replace(LARGE_NUMBER, digits => `{"$u64":"${digits}"}`))

const u64 = (value: bigint): Json =>
  value < 10n ** 15n ? Number(value) : { $u64: value.toString() }

/** An account object (contract: account-object), base64, written independently of the service. */
export const accountValue = (account: Omit<Account, 'pubkey'>): Json => ({
  lamports: u64(account.lamports),
  data: [account.data.toString('base64'), 'base64'],
  owner: bs58.encode(account.owner),
  executable: account.executable,
  rentEpoch: u64(account.rentEpoch),
  space: account.data.length,
})

/** Fails the run where the value of a reply is wrong: a wrong reply is never timed. */
export const checkReply = (name: string, reply: string, result: Json): void =>
  assert.deepEqual(parseExactly(reply), { jsonrpc: '2.0', result, id: 1 }, `${name}: wrong answer`)

/** A row of a page. */
export const pageRow = (account: Account): Json => ({
  pubkey: bs58.encode(account.pubkey),
  account: accountValue(account),
})

/** The body of a call, canonical: no blanks, members in the order that clients write them. */
export const callBody = (method: string, params: readonly unknown[]): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
