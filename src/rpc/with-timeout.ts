import { RpcError } from '../shared/errors.js'
import type { ReplyBytes } from '../native/reads.js'

/**
 * The result, or `readTimeout` where it takes longer than `waitMs`. A source that comes too late is
 * closed.
 */
export const withTimeout = (waitMs: number, pending: Promise<ReplyBytes>): Promise<ReplyBytes> =>
  new Promise((resolve, reject) => {
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      reject(new RpcError('readTimeout'))
    }, waitMs)
    pending.then(
      result => {
        clearTimeout(timer)
        if (!isLate) resolve(result)
        else if (!(result instanceof Uint8Array)) result.close()
      },
      (fault: unknown) => {
        clearTimeout(timer)
        reject(fault)
      },
    )
  })
