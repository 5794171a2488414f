/** Kinds of warnings. */
export const WARNING_KINDS = ['limit-near', 'errors-rising', 'rental-ending'] as const
export type WarningKind = (typeof WARNING_KINDS)[number]
