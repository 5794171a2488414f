import { isMap } from '../../shared/values.js'
import type { Left } from './write-ahead-log.js'
import { ID_BYTES } from './submission-id.js'
import type { Submission } from './submission.js'

/** How the bytes of the journal are read; both throw where that cannot be. */
export type Codec = {
  readonly unpack: (bytes: Uint8Array) => unknown
  readonly parse: (value: unknown) => Submission
}

/**
 * A submission that was left in the journal, with its end where that can be read. Throws where it
 * cannot be read itself.
 */
export const recall = (
  { entry, ended }: Left,
  { unpack, parse }: Codec,
  onFault: (fault: unknown) => void,
): readonly [id: Buffer, submission: Submission] => {
  const members = (bytes: Uint8Array) => {
    const value = unpack(bytes)
    if (!isMap(value)) throw new Error('an entry of the journal is no map')
    return value
  }
  const begun = members(entry.subarray(ID_BYTES))
  let end = {}
  try {
    if (ended !== undefined) end = members(ended)
  } catch (error) {
    onFault(error)
  }
  return [Buffer.from(entry.subarray(0, ID_BYTES)), parse({ ...begun, ...end })]
}
