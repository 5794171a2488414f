import { Account, type LiteSvm } from 'litesvm/dist/internal.js'
import { ADDRESSES, isSameBytes, toMapKey } from '../solana/addresses.js'
import type { AccountState } from './block.js'

/** What validators store for every rent-exempt account. */
export const RENT_EXEMPT_EPOCH = 0xffff_ffff_ffff_ffffn

/** What is left of an account that is gone. */
export const CLOSED: AccountState = {
  lamports: 0n,
  owner: ADDRESSES.system,
  executable: false,
  rentEpoch: 0n,
  data: new Uint8Array(0),
}

const toSvmAccount = ({ lamports, data, owner, executable, rentEpoch }: AccountState): Account =>
  new Account(lamports, data, owner, executable, rentEpoch)

/** Programs and sysvars of the virtual machine are found by these owners. */
const GENESIS_OWNERS = [
  ADDRESSES.nativeLoader,
  ADDRESSES.loader1,
  ADDRESSES.loader2,
  ADDRESSES.upgradeableLoader,
  ADDRESSES.sysvar,
  ADDRESSES.feature,
]

/**
 * The accounts of the virtual machine, seen exactly. LiteSVM refuses or alters what it does not
 * like (an executable without a program, a rent epoch), so a loaded account stays as it was given
 * until a transaction writes it, and keeps its rent epoch and executable mark after that.
 */
export class SvmAccounts {
  private readonly svm: LiteSvm
  private readonly loaded = new Map<string, AccountState>()
  private readonly marks = new Map<string, Pick<AccountState, 'rentEpoch' | 'executable'>>()
  /** Programs, sysvars and feature accounts: a transaction never writes them. */
  private readonly reserved = new Set<string>()

  constructor(svm: LiteSvm) {
    this.svm = svm
    for (const [pubkey] of this.builtins()) this.reserved.add(toMapKey(pubkey))
  }

  /** What the virtual machine starts with, in no special order. */
  builtins(): [pubkey: Uint8Array, state: AccountState][] {
    const found = GENESIS_OWNERS.flatMap(owner => this.svm.getProgramAccounts(owner)).map(
      ({ address }) => address,
    )
    return [...found, ADDRESSES.nativeMint].map(pubkey => [pubkey, this.read(pubkey) ?? CLOSED])
  }

  isReserved(pubkey: Uint8Array): boolean {
    return this.reserved.has(toMapKey(pubkey))
  }

  /** The account now; `undefined` where there is none. */
  get(pubkey: Uint8Array): AccountState | undefined {
    const state = this.loaded.get(toMapKey(pubkey)) ?? this.read(pubkey)
    return state === undefined || state.lamports === 0n ? undefined : state
  }

  /** Addresses of a program's accounts, in ascending order. */
  ownedBy(program: Uint8Array): Uint8Array[] {
    const found = new Map(
      this.svm.getProgramAccounts(program).map(({ address }) => [toMapKey(address), address]),
    )
    for (const [id, { owner }] of this.loaded)
      if (isSameBytes(owner, program)) found.set(id, Buffer.from(id, 'latin1'))
      else found.delete(id)
    return [...found.values()].sort(Buffer.compare)
  }

  lamports(pubkey: Uint8Array): bigint {
    return this.svm.getBalance(pubkey) ?? 0n
  }

  /**
   * Sets an account to exactly this. Programs and sysvars of the virtual machine itself stay what
   * they are inside it, so that it goes on working; everybody else sees the loaded ones.
   */
  load(pubkey: Uint8Array, state: AccountState): void {
    const id = toMapKey(pubkey)
    this.loaded.set(id, state)
    this.marks.set(id, { rentEpoch: state.rentEpoch, executable: state.executable })
    if (this.reserved.has(id)) return
    try {
      this.svm.setAccount(pubkey, toSvmAccount(state))
    } catch {
      // Not a state that it can run with (a program without its code): readable all the same.
    }
  }

  /** Notes all that an account is; the function that it returns makes it that again. */
  save(pubkey: Uint8Array): () => void {
    const id = toMapKey(pubkey)
    const [loaded, marks] = [this.loaded.get(id), this.marks.get(id)]
    // Without lamports the virtual machine forgets an account.
    const before = this.svm.getAccount(pubkey) ?? toSvmAccount(CLOSED)
    return () => {
      if (loaded !== undefined) this.loaded.set(id, loaded)
      if (marks === undefined) this.marks.delete(id)
      else this.marks.set(id, marks)
      this.svm.setAccount(pubkey, before)
    }
  }

  /** The account after a transaction wrote it, as it is published. */
  readWritten(pubkey: Uint8Array): AccountState {
    this.loaded.delete(toMapKey(pubkey))
    const state = this.read(pubkey)
    if (state !== undefined && state.lamports > 0n) return state
    this.marks.delete(toMapKey(pubkey))
    return CLOSED
  }

  private read(pubkey: Uint8Array): AccountState | undefined {
    const account = this.svm.getAccount(pubkey)
    if (account === null) return undefined
    const marks = this.marks.get(toMapKey(pubkey))
    return {
      lamports: account.lamports(),
      owner: account.owner(),
      executable: marks?.executable ?? account.executable(),
      rentEpoch: marks?.rentEpoch ?? RENT_EXEMPT_EPOCH,
      data: account.data(),
    }
  }
}
