import * as v from 'valibot'
import { isMap } from '../../shared/values.js'
import { ID_BYTES } from './submission-id.js'
import { submissionSchema, type Submission } from './submission.js'
import { unpack } from './rows.js'
import type { RecoveredEntry } from './write-ahead-log.js'

/**
 * The submission of a recovered entry. An ending that cannot be decoded is reported and ignored.
 * Throws where the entry itself cannot be decoded.
 */
export const decodeRecoveredEntry = (
  { entry, ending }: RecoveredEntry,
  onFault: (fault: unknown) => void,
): readonly [id: Buffer, submission: Submission] => {
  const decode = (bytes: Uint8Array): Record<string, unknown> => {
    const value = unpack(bytes)
    if (!isMap(value)) throw new Error('an entry of the write-ahead log is not a map')
    return value
  }
  const pending = decode(entry.subarray(ID_BYTES))
  let ended = {}
  try {
    if (ending !== undefined) ended = decode(ending)
  } catch (error) {
    onFault(error)
  }
  const submission = v.parse(submissionSchema, { ...pending, ...ended })
  return [Buffer.from(entry.subarray(0, ID_BYTES)), submission]
}
