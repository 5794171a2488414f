/** How the store of accesses may not take a change, or not everywhere yet. */
export const CHANGE_ERRORS = [
  'notConfirmed',
  'changeUnknown',
  'changeDenied',
  'clusterBroken',
  'notInCluster',
  'etcdSilent',
  'accessBusy',
  'accessTooLong',
] as const
