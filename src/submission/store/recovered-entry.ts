import * as v from 'valibot'
import { isMap } from '../../shared/values.js'
import { ID_BYTES } from './submission-id.js'
import { submissionSchema, type Submission } from './submission.js'
import { toEntry, unpack } from './rows.js'
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

/**
 * The entry of a submission that has ended, and its endings, of which the first that fits is taken.
 * The members that may be long are in the ending; tips, findings and lanes matter least.
 */
export const entryOfEnded = (
  id: Uint8Array,
  submission: Submission,
): { readonly entry: Buffer; readonly endings: readonly object[] } => {
  const {
    blockhashes,
    engine: _engine,
    error,
    findings,
    lanes,
    nonces,
    result,
    tips,
    ...rest
  } = submission
  const { landing: _landing, signatures, ...entry } = rest
  const ending = { signatures, blockhashes, nonces, error }
  return {
    entry: toEntry(id, { ...entry, signatures: [], result, error: null, engine: null }),
    endings: [{ ...ending, tips, findings, lanes }, ending],
  }
}
