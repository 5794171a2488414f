import type { AccessLog } from '../access/log/access-log.js'
import type { EdgeNotifier } from '../access/service.js'
import type { AccessStore } from '../access/store/access-store.js'

/** Where accesses are read and changed, and how a change comes into effect. */
export type AccessSource = {
  readonly store: AccessStore
  readonly accessLog: AccessLog
  readonly notifier: EdgeNotifier
  close(): Promise<void>
}
