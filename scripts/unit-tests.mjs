/**
 * Folders of test/ whose files share a process, file after file. Not in the list are those that
 * start services, and test/native/: a process has one set of native pools, of the first options.
 */
export const UNIT_FOLDERS = [
  'access',
  'config',
  'control',
  'dashboard',
  'edge',
  'ingest',
  'pubsub',
  'rpc',
  'sandbox',
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
  // Starts a service.
  'test/sandbox/process.ts',
]
