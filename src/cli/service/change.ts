import { existsSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { lockFile } from '../../native/os.js'
import {
  readChangeState,
  requestChange,
  type ChangeRequest,
  type ChangeState,
} from '../../supervision/change-request.js'
import { LOCK_NAME } from '../../supervision/data-dir.js'
import { isAlive } from './indexer-process.js'

/** Longest time until the supervisor takes a request: it reads them several times a second. */
const TAKEN_MS = 1_500
const POLL_MS = 50
/** In the data directory of a sandbox, whose supervisor takes no requests. */
const SANDBOX_FILE = 'sandbox.json'

/** Waits until the supervisor has ended the change. */
const untilEnded = async (dataDir: string, id: string): Promise<ChangeState> => {
  const takenMs = performance.now() + TAKEN_MS
  for (;;) {
    await sleep(POLL_MS)
    const found = readChangeState(dataDir, id)
    if (found === undefined) {
      if (performance.now() > takenMs)
        throw new Error(`the supervisor has not answered for ${TAKEN_MS} ms: see its log`)
    } else if (found.state !== 'running') return found
    else if (!isAlive(found.pid)) throw new Error('the service has ended')
  }
}

/**
 * Requests a change of the service that runs on a data directory, and prints how it ended. Returns
 * the exit code: 0 if it was carried out, 1 if the service continues as before.
 */
export const changeService = async (
  dataDir: string,
  kind: ChangeRequest['kind'],
): Promise<0 | 1> => {
  process.title = `slotline ${kind}`
  const lock = join(dataDir, LOCK_NAME)
  if (!existsSync(lock) || lockFile(lock))
    throw new Error(`no Slotline runs on the data directory ${dataDir}`)
  if (existsSync(join(dataDir, SANDBOX_FILE)))
    throw new Error(`a sandbox does not ${kind}: stop it and start it again`)
  const from = `slotline ${kind}, ${userInfo().username}`
  const { state, message } = await untilEnded(dataDir, requestChange(dataDir, { kind, from }))
  if (state === 'done') {
    process.stdout.write(`${message}\n`)
    return 0
  }
  for (const line of message.split('\n')) process.stderr.write(`slotline: ${line}\n`)
  return 1
}
