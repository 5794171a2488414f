import type { Keypair } from './keypair.js'

/** An account of an instruction. */
export type AccountMeta = {
  readonly pubkey: Uint8Array
  readonly isSigner: boolean
  readonly isWritable: boolean
}

/** An instruction before it is compiled. */
export type Instruction = {
  readonly programId: Uint8Array
  readonly accounts: readonly AccountMeta[]
  readonly data: Uint8Array
}

export const writable = (pubkey: Uint8Array): AccountMeta => ({
  pubkey,
  isSigner: false,
  isWritable: true,
})
export const readonly = (pubkey: Uint8Array): AccountMeta => ({
  pubkey,
  isSigner: false,
  isWritable: false,
})
export const writableSigner = (pubkey: Uint8Array): AccountMeta => ({
  pubkey,
  isSigner: true,
  isWritable: true,
})
export const readonlySigner = (pubkey: Uint8Array): AccountMeta => ({
  pubkey,
  isSigner: true,
  isWritable: false,
})

/** A length prefix in its shortest form, for lengths up to 16,383. */
export const encodeLength = (length: number): number[] =>
  length < 128 ? [length] : [(length & 127) | 128, length >> 7]

type Key = { pubkey: Uint8Array; isSigner: boolean; isWritable: boolean }

const collectKeys = (payer: Uint8Array, instructions: readonly Instruction[]): Key[] => {
  const keys = new Map<string, Key>()
  const add = ({ pubkey, isSigner, isWritable }: AccountMeta): void => {
    const id = Buffer.from(pubkey).toString('latin1')
    const known = keys.get(id)
    if (known === undefined) keys.set(id, { pubkey, isSigner, isWritable })
    else {
      known.isSigner ||= isSigner
      known.isWritable ||= isWritable
    }
  }
  add(writableSigner(payer))
  for (const instruction of instructions) instruction.accounts.forEach(add)
  for (const { programId } of instructions) add(readonly(programId))
  // The sort is stable: the payer remains the first writable signer.
  const rank = (key: Key): number => (key.isSigner ? 0 : 2) + (key.isWritable ? 0 : 1)
  return [...keys.values()].toSorted((a, b) => rank(a) - rank(b))
}

/**
 * Compiles and signs a legacy transaction. The first signer pays; `signers` may contain keys that
 * do not have to sign. Not by `@solana/kit`: its compilation takes seven times as long, which the
 * traffic's rate does not allow, and its import delays the start.
 */
export const compileTransaction = (
  instructions: readonly Instruction[],
  signers: readonly [Keypair, ...Keypair[]],
  blockhash: Uint8Array,
): Buffer => {
  const keys = collectKeys(signers[0].publicKey, instructions)
  const indexOf = (pubkey: Uint8Array): number =>
    keys.findIndex(key => Buffer.compare(key.pubkey, pubkey) === 0)
  const signed = keys.filter(key => key.isSigner)
  const parts: Uint8Array[] = [
    Uint8Array.of(
      signed.length,
      signed.filter(key => !key.isWritable).length,
      keys.filter(key => !key.isSigner && !key.isWritable).length,
      ...encodeLength(keys.length),
    ),
    ...keys.map(key => key.pubkey),
    blockhash,
    Uint8Array.from(encodeLength(instructions.length)),
  ]
  for (const { programId, accounts, data } of instructions)
    parts.push(
      Uint8Array.of(indexOf(programId), ...encodeLength(accounts.length)),
      Uint8Array.from(accounts, account => indexOf(account.pubkey)),
      Uint8Array.from(encodeLength(data.length)),
      data,
    )
  const message = Buffer.concat(parts)
  const signatures = signed.map(key => {
    const signer = signers.find(one => Buffer.compare(one.publicKey, key.pubkey) === 0)
    if (signer === undefined) throw new Error('a signer of the transaction is missing')
    return signer.sign(message)
  })
  return Buffer.concat([Uint8Array.from(encodeLength(signatures.length)), ...signatures, message])
}
