import { randomBase62, type RandomBytes } from '../tokens/location-token.js'

const CHANGE_ID_CHARS = 12

/** Names a change, so that its author recognises it in the journal. */
export const createChangeId = (randomBytes: RandomBytes): string =>
  `chg_${randomBase62(CHANGE_ID_CHARS, randomBytes)}`
