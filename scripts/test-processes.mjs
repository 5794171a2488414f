/**
 * Folders of test/ whose files share a process, file after file; those of test/browser/ share a
 * Chromium too, and some of them, test/clients/ and test/service/sandbox/ a sandbox. Other ones
 * that start services are not in the list.
 */
export const SHARED_FOLDERS = [
  'access',
  'bootstrap',
  'browser',
  'cli',
  'clients',
  'cluster',
  'config',
  'control',
  'dashboard',
  'edge',
  'ingest',
  'native',
  'pubsub',
  'repository',
  'rpc',
  'sandbox',
  'sender',
  'server',
  'service/sandbox',
  'shared',
  'storage',
  'submission',
  'supervision',
  'upstream',
  'usage',
  'websocket',
  'wire',
]

/** Files in them that need a process of their own. */
export const OWN_PROCESS = [
  // Measure the memory of their process, or the turns of its event loop.
  'test/edge/direct-heap.ts',
  'test/ingest/accounts-rpc/memory.ts',
  'test/server/compiled/drained-queues.ts',
  'test/server/compiled/pipelines.ts',
  'test/server/compiled/turns.ts',
  'test/server/http/reply-stream.ts',
  'test/server/unread-replies.ts',
  'test/websocket/stopped-readers.ts',
  'test/repository/linear-work.ts',
  // A process has one set of native pools, of the first options.
  'test/native/pool-options.ts',
  'test/native/transactions.ts',
  // Have an environment of their own.
  'test/server/compiled/ipv6.ts',
  'test/server/tls/conformance.ts',
  // Take so long that others should not wait for them.
  'test/cli/access.ts',
  'test/cli/sandbox/run-machines.ts',
  // Start a service, those of clients with other options than the sandbox that the others share.
  'test/clients/forward.ts',
  'test/clients/sandbox.ts',
  'test/clients/submission.ts',
]

/** What takes longest begins first: the last one would run alone. */
export const LONGEST = [
  'test/service/upgrade.ts',
  'test/service/cluster/machines.ts',
  'test/service/reload.ts',
  'test/faults/submissions.ts',
  'test/cli/access.ts',
  'test/service/usage.ts',
  'test/service/cluster/peers.ts',
  'test/dashboard/',
  'test/edge/',
  'test/ingest/',
  'test/submission/',
  'test/bootstrap/',
  'test/faults/kill.ts',
]
