/**
 * Which Ed25519 signatures the validators of a network accept: `strict`, as on mainnet, or
 * `cofactored`, the relaxed rule of SIMD-0376.
 */
export const SIGNATURE_RULES = ['strict', 'cofactored'] as const
export type SignatureRule = (typeof SIGNATURE_RULES)[number]

export const DEFAULT_SIGNATURE_RULE: SignatureRule = 'strict'
