import type { AlertRule } from '../../access/store/webhook-shape.js'

/** What a rule may be about. */
export const WARNING_KINDS = [
  'limit-near',
  'errors-rising',
  'p99-high',
  'landing-rate-low',
  'location-behind',
  'rental-ending',
] as const
export type WarningKind = (typeof WARNING_KINDS)[number]

/** Whole numbers that a rule may have, and that of the default rule. */
type Range = { readonly min: number; readonly max: number; readonly default: number }

/** What the rules of a kind have. */
type KindRow = {
  readonly threshold: Range & { readonly unit: 'percent' | 'ms' | 'slots' | 'days' }
  /** Times that are looked at, in minutes; the first is the default. Absent: the kind has none. */
  readonly windows?: readonly number[]
  /** Fewer than this in that time are not looked at. */
  readonly countMin?: Range
  /** It can be of one method. */
  readonly hasMethod?: true
  /** It can depend on the hour before. */
  readonly canRise?: true
  readonly isOn: boolean
}

/** Few, so that all rules of an access together cost a few questions. */
const MINUTES = [5, 15, 30, 60] as const

const PERCENT = { min: 1, max: 100, unit: 'percent' } as const

/** Every kind with its thresholds: shapes, defaults and the form of the page follow from it. */
export const KINDS: Readonly<Record<WarningKind, KindRow>> = {
  'limit-near': { threshold: { ...PERCENT, default: 80 }, isOn: true },
  'errors-rising': {
    threshold: { ...PERCENT, default: 10 },
    windows: MINUTES,
    countMin: { min: 1, max: 1_000_000, default: 20 },
    canRise: true,
    isOn: true,
  },
  'p99-high': {
    threshold: { min: 1, max: 30_000, default: 250, unit: 'ms' },
    windows: MINUTES,
    countMin: { min: 1, max: 1_000_000, default: 100 },
    hasMethod: true,
    isOn: false,
  },
  'landing-rate-low': {
    threshold: { ...PERCENT, default: 50 },
    // Submissions are counted by the hour.
    windows: [60, 360, 1_440],
    countMin: { min: 1, max: 1_000_000, default: 20 },
    isOn: false,
  },
  'location-behind': {
    threshold: { min: 1, max: 10_000, default: 100, unit: 'slots' },
    isOn: true,
  },
  'rental-ending': { threshold: { min: 1, max: 30, default: 3, unit: 'days' }, isOn: true },
}

/** Rules of one access. */
export const RULES_MAX = 32

export const isKind = (kind: string): kind is WarningKind => WARNING_KINDS.some(one => one === kind)

/** A rule as every access has it; its id is its kind. */
export const defaultRule = (kind: WarningKind): AlertRule => {
  const { threshold, windows, countMin, canRise = false, isOn } = KINDS[kind]
  return {
    ruleId: kind,
    kind,
    isOn,
    threshold: threshold.default,
    windowMinutes: windows?.[0] ?? 0,
    countMin: countMin?.default ?? 0,
    onlyRising: canRise,
    method: '',
    webhooks: null,
    sendsResolved: false,
  }
}

export const DEFAULT_RULES: readonly AlertRule[] = WARNING_KINDS.map(defaultRule)
