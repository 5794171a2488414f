import type { BootstrapPlan } from './bootstrap.js'

const ALWAYS = [
  'version, lengths, end and checksums of the archive',
  'that the feed continues its block, by slot and hash',
]

/**
 * What a load of snapshots has compared and what it has not, for the operator: an archive may come
 * from anybody. Undefined where nothing was loaded from one.
 */
export const describeChecks = (
  kind: BootstrapPlan['kind'],
  isScoped: boolean,
): { readonly checked: string; readonly notChecked: string } | undefined => {
  if (kind === 'rpc' || kind === 'peer') return undefined
  const lamports = 'the sum of all lamports against that of its bank'
  const hash = 'the lattice hash of all accounts, which is the hash in its name'
  // An incremental snapshot has only the accounts that changed.
  const isSummed = kind === 'snapshot' && !isScoped
  return {
    checked: [...ALWAYS, ...(isSummed ? [lamports] : [])].join('; '),
    notChecked: [hash, ...(isSummed ? [] : [lamports])].join('; '),
  }
}
