/**
 * What is recorded: every change of accesses, tokens, webhooks, API keys, members and secrets of
 * the service, every sight of a secret, operators who look at an access, and sign-ins.
 */
export const AUDIT_ACTIONS = [
  'grant',
  'extend',
  'end',
  'amend',
  'relabel',
  'generate',
  'reveal',
  'regenerate',
  'end-former',
  'restrict',
  'keep-parameters',
  'revoke',
  'set-webhook',
  'reveal-webhook',
  'test-webhook',
  'resume-webhook',
  'remove-webhook',
  'make-api-key',
  'revoke-api-key',
  'set-alerts',
  'add-member',
  'set-member-role',
  'remove-member',
  'leave-access',
  'view-access',
  'sign-in',
  'sign-out',
  'end-session',
  'end-sessions',
  'make-admin-token',
  'end-admin-token',
  'renew-admin-token',
  'reseal',
  'reload',
  'upgrade',
] as const
export type AuditAction = (typeof AUDIT_ACTIONS)[number]

/** What was answered where a change may be stored although its request failed. */
export const AUDIT_OUTCOMES = ['notConfirmed', 'changeUnknown'] as const
export type AuditOutcome = (typeof AUDIT_OUTCOMES)[number]
