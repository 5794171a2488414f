/**
 * Folders of test/ whose files share a process, file after file; those of test/browser/ share a
 * Chromium too, those of test/clients/ a sandbox. Not in the list are other ones that start
 * services, and test/native/: a process has one set of native pools, of the first options.
 */
export const UNIT_FOLDERS = [
  'access',
  'browser',
  'clients',
  'config',
  'control',
  'dashboard',
  'edge',
  'ingest',
  'pubsub',
  'rpc',
  'sandbox',
  'sender',
  'shared',
  'storage',
  'submission',
  'supervision',
  'upstream',
]

/** Files in them that need a process of their own. */
export const OWN_PROCESS = [
  // Measure the memory of their process.
  'test/edge/direct-heap.ts',
  'test/ingest/accounts-rpc/memory.ts',
  // Start a service, those of clients with other options than the sandbox that the others share.
  'test/sandbox/process.ts',
  'test/clients/forward.ts',
  'test/clients/sandbox.ts',
  'test/clients/submission.ts',
]

/** What takes longest begins first: the last one would run alone. */
export const LONGEST = [
  'test/service/cluster/machines.ts',
  'test/service/upgrade.ts',
  'test/service/reload.ts',
  'test/faults/hung-process.ts',
  'test/cli/access.ts',
  'test/cli/backup.ts',
  'test/service/usage.ts',
  'test/service/cluster/peers.ts',
  'test/service/cluster/cut-off.ts',
  'test/faults/kill.ts',
]
