/** What each scope of an API key permits, in the order in which they are offered. */
export const SCOPE_TEXTS = [
  ['usage:read', 'Read usage'],
  ['submissions:read', 'Read submissions'],
  ['alerts:manage', 'Read and change alert rules'],
  ['token:restrict', 'Restrict tokens'],
  ['token:regenerate', 'Regenerate tokens'],
] as const
export type Scope = (typeof SCOPE_TEXTS)[number][0]
