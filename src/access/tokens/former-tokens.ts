import type { AccessDocument, FormerToken, TokenRecord } from '../store/tables.js'

/** How long an attempt with a former token counts as such; later the token is unknown. */
const KEPT_MS = 30 * 86_400_000
/** Former tokens of one access, about 150 bytes each. Over it the oldest are unknown. */
const KEPT_MAX = 64

/** Whether a token that ended then is still known. */
export const isKept = (endedAtMs: number, nowMs: number): boolean => nowMs - endedAtMs < KEPT_MS

const toFormer = (
  { network, location, digest, tail }: TokenRecord,
  endedAtMs: number,
): FormerToken => ({ network, location, digest, tail, endedAtMs })

/** An access after a change, with the tokens that it has lost among the former ones. */
export const withFormerTokens = (
  before: AccessDocument,
  after: AccessDocument,
  nowMs: number,
): AccessDocument => {
  const kept = new Set(after.tokens.map(({ tokenId }) => tokenId))
  const lost = before.tokens.filter(({ tokenId }) => !kept.has(tokenId))
  const formerTokens = [...lost.map(token => toFormer(token, nowMs)), ...before.formerTokens]
    .filter(({ endedAtMs }) => isKept(endedAtMs, nowMs))
    .slice(0, KEPT_MAX)
  return { ...after, formerTokens }
}
