import { FilterError, type SubscribeRequest, type TransactionsFilter } from './request.js'

/** Limits of a subscription, named as in the configuration of the Yellowstone plugin. */
export type FilterLimits = {
  /** Filters of each kind. */
  readonly max?: number
  /** Whether filters of accounts and transactions may be without an address. */
  readonly any?: boolean
  /** Owners or accounts of one filter. */
  readonly pubkeysMax?: number
  /** Blocks with accounts. */
  readonly include_accounts?: boolean
}

const fail = (reason: string): never => {
  throw new FilterError(`failed to create filter: ${reason}`)
}

const isAny = ({ include, required }: TransactionsFilter): boolean =>
  include.length + required.length === 0

/** Throws FilterError with the texts of the plugin. */
export const checkLimits = (request: SubscribeRequest, limits: FilterLimits = {}): void => {
  const { max = Infinity, any = true, pubkeysMax = Infinity, include_accounts = true } = limits
  const {
    accounts,
    slots,
    transactions,
    transactionsStatus,
    blocks,
    blocksMeta,
    entries,
    footers,
  } = request
  const maps = [accounts, slots, transactions, transactionsStatus, blocks, footers]
  const sizes = maps.map(({ size }) => size)
  if (Math.max(...sizes, blocksMeta.length, entries.length) > max)
    fail(`Max amount of filters/data_slices reached, only ${max} allowed`)
  const full = 'Subscribe on full stream with `any` is not allowed, at least one filter required'
  for (const { accounts: keys, owners } of accounts.values()) {
    if (!any && keys.length + owners.length === 0) fail(full)
    if (Math.max(keys.length, owners.length) > pubkeysMax)
      fail(`Max amount of Pubkeys reached, only ${pubkeysMax} allowed`)
  }
  for (const filter of [...transactions.values(), ...transactionsStatus.values()])
    if (!any && isAny(filter)) fail(full)
  for (const { hasAccounts } of blocks.values())
    if (hasAccounts && !include_accounts) fail('`include_accounts` is not allowed')
}
