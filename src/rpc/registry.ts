import type { Method } from './method.js'
import { createDiscover } from './methods/discover.js'
import { getAccountInfo } from './methods/get-account-info.js'
import { getBalance } from './methods/get-balance.js'
import { getBlockHeight } from './methods/get-block-height.js'
import { getHealth } from './methods/get-health.js'
import { getLanePerformance } from './methods/get-lane-performance.js'
import { getLatestBlockhash } from './methods/get-latest-blockhash.js'
import { getMultipleAccounts } from './methods/get-multiple-accounts.js'
import { getProgramAccountsV2 } from './methods/get-program-accounts-v2.js'
import { getPriorityFeeEstimate } from './methods/fees/get-priority-fee-estimate.js'
import { getRecentPrioritizationFees } from './methods/fees/get-recent-prioritization-fees.js'
import { getSlot } from './methods/get-slot.js'
import { getSubmission } from './methods/get-submission.js'
import { getSubmissions } from './methods/get-submissions.js'
import { getTipPercentiles } from './methods/fees/get-tip-percentiles.js'
import { getTokenAccountBalance } from './methods/get-token-account-balance.js'
import { getTokenAccountsByOwnerV2 } from './methods/get-token-accounts-by-owner-v2.js'
import { getTokenLargestAccounts } from './methods/get-token-largest-accounts.js'
import { getTokenSupply } from './methods/get-token-supply.js'
import { getVersion } from './methods/get-version.js'
import { isBlockhashValid } from './methods/is-blockhash-valid.js'

/** Every method that is answered here, by its name, in the order of docs/methods.md. */
export const METHODS: ReadonlyMap<string, Method> = new Map(
  [
    getLatestBlockhash,
    getAccountInfo,
    getMultipleAccounts,
    getTokenLargestAccounts,
    getTokenAccountBalance,
    getTokenSupply,
    getProgramAccountsV2,
    getTokenAccountsByOwnerV2,
    getBalance,
    getSlot,
    getBlockHeight,
    getHealth,
    getVersion,
    isBlockhashValid,
    getRecentPrioritizationFees,
    getPriorityFeeEstimate,
    getTipPercentiles,
    getSubmission,
    getSubmissions,
    getLanePerformance,
    createDiscover(() => METHODS.values()),
  ].map(method => [method.name, method]),
)
