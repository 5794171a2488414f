import { Account, type LiteSvm } from 'litesvm/dist/internal.js'
import { ADDRESSES, isSameBytes, toMapKey } from '../solana/addresses.js'
import type { AccountState } from './block.js'

/** The rent epoch that validators store for every rent-exempt account. */
const RENT_EXEMPT_EPOCH = 0xffff_ffff_ffff_ffffn

/** The state of a deleted account, as it is published. */
export const CLOSED: AccountState = {
  lamports: 0n,
  owner: ADDRESSES.system,
  executable: false,
  rentEpoch: 0n,
  data: new Uint8Array(0),
}

const toSvmAccount = ({ lamports, data, owner, executable, rentEpoch }: AccountState): Account =>
  new Account(lamports, data, owner, executable, rentEpoch)

/** Owners of the programs and sysvars of the virtual machine. */
const GENESIS_OWNERS = [
  ADDRESSES.nativeLoader,
  ADDRESSES.loader1,
  ADDRESSES.loader2,
  ADDRESSES.upgradeableLoader,
  ADDRESSES.sysvar,
  ADDRESSES.feature,
]

/**
 * The exact accounts of the virtual machine. LiteSVM refuses or changes some states (an executable
 * without a program, a rent epoch). A loaded account is therefore kept here until a transaction
 * writes it, and its rent epoch and executable flag are kept after that.
 */
export class SvmAccounts {
  private readonly svm: LiteSvm
  private readonly loaded = new Map<string, AccountState>()
  private readonly flags = new Map<string, Pick<AccountState, 'rentEpoch' | 'executable'>>()
  /** Programs, sysvars and feature accounts: transactions cannot write them. */
  private readonly reserved = new Set<string>()

  constructor(svm: LiteSvm) {
    this.svm = svm
    for (const [pubkey] of this.builtins()) this.reserved.add(toMapKey(pubkey))
  }

  /** The initial accounts of the virtual machine, unordered. */
  builtins(): [pubkey: Uint8Array, state: AccountState][] {
    const found = GENESIS_OWNERS.flatMap(owner => this.svm.getProgramAccounts(owner)).map(
      ({ address }) => address,
    )
    return [...found, ADDRESSES.nativeMint].map(pubkey => [pubkey, this.read(pubkey) ?? CLOSED])
  }

  isReserved(pubkey: Uint8Array): boolean {
    return this.reserved.has(toMapKey(pubkey))
  }

  /** `undefined` where the account does not exist. */
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
   * Sets an account. Reserved accounts are not changed inside the virtual machine, which needs
   * them; readers see the loaded state.
   */
  load(pubkey: Uint8Array, state: AccountState): void {
    const id = toMapKey(pubkey)
    this.loaded.set(id, state)
    this.flags.set(id, { rentEpoch: state.rentEpoch, executable: state.executable })
    if (this.reserved.has(id)) return
    try {
      this.svm.setAccount(pubkey, toSvmAccount(state))
    } catch {
      // LiteSVM refuses this state (a program without its code); it is readable all the same.
    }
  }

  /** Saves the state of an account; the returned function restores it. */
  save(pubkey: Uint8Array): () => void {
    const id = toMapKey(pubkey)
    const [loaded, flags] = [this.loaded.get(id), this.flags.get(id)]
    // LiteSVM deletes an account without lamports.
    const before = this.svm.getAccount(pubkey) ?? toSvmAccount(CLOSED)
    return () => {
      if (loaded !== undefined) this.loaded.set(id, loaded)
      if (flags === undefined) this.flags.delete(id)
      else this.flags.set(id, flags)
      this.svm.setAccount(pubkey, before)
    }
  }

  /** The state of an account that a transaction has written. */
  readWritten(pubkey: Uint8Array): AccountState {
    this.loaded.delete(toMapKey(pubkey))
    const state = this.read(pubkey)
    if (state !== undefined && state.lamports > 0n) return state
    this.flags.delete(toMapKey(pubkey))
    return CLOSED
  }

  private read(pubkey: Uint8Array): AccountState | undefined {
    const account = this.svm.getAccount(pubkey)
    if (account === null) return undefined
    const flags = this.flags.get(toMapKey(pubkey))
    return {
      lamports: account.lamports(),
      owner: account.owner(),
      executable: flags?.executable ?? account.executable(),
      rentEpoch: flags?.rentEpoch ?? RENT_EXEMPT_EPOCH,
      data: account.data(),
    }
  }
}
