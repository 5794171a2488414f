import { InvalidArgumentError } from 'commander'
import { LIMIT_NAMES, type Limits } from '../shared/access-limits.js'

/** Parses an integer within inclusive bounds. */
export const integer =
  (min: number, max: number) =>
  (value: string): number => {
    const number = Number(value)
    if (Number.isInteger(number) && number >= min && number <= max) return number
    throw new InvalidArgumentError(`It must be an integer from ${min} to ${max}.`)
  }

const INSTANT = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?Z)?$/

const parseInstant = (value: string): number | undefined => {
  const atMs = INSTANT.test(value) ? Date.parse(value) : Number.NaN
  // Date parses some invalid days as days of the next month.
  const isDay = !Number.isNaN(atMs) && new Date(atMs).toISOString().startsWith(value.slice(0, 10))
  return isDay ? atMs : undefined
}

const DAY_MS = 86_400_000

/** Parses a day like 2027-01-31 as days since 1970. */
export const day = (value: string): number => {
  const atMs = /^\d{4}-\d\d-\d\d$/.test(value) ? parseInstant(value) : undefined
  if (atMs !== undefined) return atMs / DAY_MS
  throw new InvalidArgumentError('It must be a day like 2027-01-31.')
}

const INSTANT_ADVICE = 'It must be a date, or a time like 2027-01-31T12:00:00Z'

/** Parses a date or a UTC time as Unix milliseconds. */
export const instant = (value: string): number => {
  const atMs = parseInstant(value)
  if (atMs !== undefined) return atMs
  throw new InvalidArgumentError(`${INSTANT_ADVICE}.`)
}

/** The same, or Unix milliseconds, as answers have them. */
export const instantOrMs = (value: string): number => {
  const atMs = /^\d{5,15}$/.test(value) ? Number(value) : parseInstant(value)
  if (atMs !== undefined) return atMs
  throw new InvalidArgumentError(`${INSTANT_ADVICE}, or in Unix milliseconds.`)
}

/** The same as `instant`, or `never`, because commander cannot hold null. */
export const instantOrNever = (value: string): number | 'never' =>
  value === 'never' ? value : instant(value)

const TEXT_CHARS_MAX = 200

const LIMIT_MAX = 2 ** 32 - 1

/** Parses limits of an access, as `socketsMax=4,requestsBurstMax=500`; repeatable. */
export const limits = (value: string, all: Partial<Limits> = {}): Partial<Limits> => {
  const named = value.split(',').map(pair => {
    const [text = '', count = '', ...rest] = pair.split('=')
    const name = LIMIT_NAMES.find(known => known === text.trim())
    if (name === undefined || count.trim() === '' || rest.length > 0)
      throw new InvalidArgumentError(
        `It must be like socketsMax=4,requestsBurstMax=500, of ${LIMIT_NAMES.join(', ')}.`,
      )
    return [name, integer(0, LIMIT_MAX)(count)] as const
  })
  return { ...all, ...Object.fromEntries(named) }
}

/** Parses text that is printed on one line. */
export const line = (value: string): string => {
  const words = value.trim()
  if (words !== '' && words.length <= TEXT_CHARS_MAX && !/\p{C}/u.test(words)) return words
  throw new InvalidArgumentError(`It must be one line of at most ${TEXT_CHARS_MAX} characters.`)
}

/** Collects all values of a repeatable option. */
export const collect = (value: string, all: readonly string[] = []): readonly string[] => [
  ...all,
  value,
]
