import type { AccessDocument, FormerToken, TokenRecord, TokenScope } from '../store/tables.js'

/** How long an attempt with a former token counts as such; later the token is unknown. */
const KEPT_MS = 30 * 86_400_000
/** Former tokens of one access, about 150 bytes each. Over it the oldest are unknown. */
const KEPT_MAX = 64
/** A former token works for at most this long beside the new one. */
export const OVERLAP_MAX_MS = 3_600_000

/** Whether a token that ended then is still known. */
export const isKept = (endedAtMs: number, nowMs: number): boolean => nowMs - endedAtMs < KEPT_MS

type Place = Pick<TokenScope, 'network' | 'location'>

const isAt = (place: Place, { network, location }: Place): boolean =>
  place.network === network && place.location === location

/** The former token of a scope that still works; there is at most one. */
export const findOverlapping = (
  { formerTokens }: Pick<AccessDocument, 'formerTokens'>,
  scope: Place,
  nowMs: number,
): FormerToken | undefined =>
  formerTokens.find(former => isAt(former, scope) && former.endedAtMs > nowMs)

/** An access whose former token of a scope does not work any more. */
export const withoutOverlap = (
  access: AccessDocument,
  scope: Place,
  nowMs: number,
): AccessDocument => ({
  ...access,
  formerTokens: access.formerTokens.map(former =>
    isAt(former, scope) ? { ...former, endedAtMs: Math.min(former.endedAtMs, nowMs) } : former,
  ),
})

const toFormer = (
  { network, location, digest, tail, tokenId }: TokenRecord,
  endedAtMs: number,
  nowMs: number,
): FormerToken => ({
  ...{ network, location, digest, tail, endedAtMs },
  ...(endedAtMs > nowMs && { tokenId }),
})

/**
 * An access after a change, with the tokens that it has lost among the former ones. They work until
 * `endMs`; those that worked beside them end with the change.
 */
export const withFormerTokens = (
  before: AccessDocument,
  after: AccessDocument,
  nowMs: number,
  endMs = nowMs,
): AccessDocument => {
  const kept = new Set(after.tokens.map(({ tokenId }) => tokenId))
  const lost = before.tokens.filter(({ tokenId }) => !kept.has(tokenId))
  const ended = lost.reduce((access, token) => withoutOverlap(access, token, nowMs), before)
  const formerTokens = [...lost.map(token => toFormer(token, endMs, nowMs)), ...ended.formerTokens]
    .filter(({ endedAtMs }) => isKept(endedAtMs, nowMs))
    .slice(0, KEPT_MAX)
  return { ...after, formerTokens }
}
