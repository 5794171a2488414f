import { InvalidArgumentError } from 'commander'

/** An integer within bounds, both included. */
export const integer =
  (min: number, max: number) =>
  (value: string): number => {
    const number = Number(value)
    if (Number.isInteger(number) && number >= min && number <= max) return number
    throw new InvalidArgumentError(`It must be an integer from ${min} to ${max}.`)
  }

const INSTANT = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?Z)?$/

/** Unix milliseconds of a date or a time, which is always UTC. */
export const instant = (value: string): number => {
  const atMs = INSTANT.test(value) ? Date.parse(value) : Number.NaN
  // Some days are read as days of the next month.
  if (!Number.isNaN(atMs) && new Date(atMs).toISOString().startsWith(value.slice(0, 10)))
    return atMs
  throw new InvalidArgumentError('It must be a date, or a time like 2027-01-31T12:00:00Z.')
}

/** The same, or `never`, which commander can hold and null is not. */
export const instantOrNever = (value: string): number | 'never' =>
  value === 'never' ? value : instant(value)

const TEXT_CHARS_MAX = 200

/** Words of a person that are shown in one line. */
export const line = (value: string): string => {
  const words = value.trim()
  if (words !== '' && words.length <= TEXT_CHARS_MAX && !/\p{C}/u.test(words)) return words
  throw new InvalidArgumentError(`It must be one line of at most ${TEXT_CHARS_MAX} characters.`)
}

/** All values of an option that may be said again. */
export const collect = (value: string, all: readonly string[] = []): readonly string[] => [
  ...all,
  value,
]
