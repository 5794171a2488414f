import { stateOf, type SubmissionState } from './state.js'
import type { StoredSubmission, Submission, SubmissionRoute } from './submission.js'

/** Which submissions of an access are wanted, of any network and location. */
export type SubmissionFilter = {
  readonly accessId: string
  readonly route?: SubmissionRoute | undefined
  readonly state?: SubmissionState | undefined
  /** Base58; one of the submission's. */
  readonly signature?: string | undefined
}

/** Part of what a search finds, newest first. */
export type SubmissionPage = {
  readonly found: readonly StoredSubmission[]
  /** The search continues with the submissions before this one; undefined at its end. */
  readonly next: Uint8Array | undefined
}

/** A quick test of a stored row, which may be true of further rows. */
export const createRowTest = ({
  accessId,
  route,
  signature,
}: SubmissionFilter): ((row: Buffer) => boolean) => {
  const texts = [accessId, route, signature].filter(one => one !== undefined)
  const wanted = texts.map(text => Buffer.from(text))
  return row => wanted.every(bytes => row.includes(bytes))
}

/** Whether a submission is wanted. */
export const isWanted = (
  submission: Submission,
  { accessId, route, signature, state }: SubmissionFilter,
  times: Parameters<typeof stateOf>[1],
): boolean =>
  submission.accessId === accessId &&
  (route === undefined || submission.route === route) &&
  (signature === undefined || submission.signatures.includes(signature)) &&
  (state === undefined || stateOf(submission, times) === state)

/** The later of two ids, of which one may be undefined. */
const later = (one: Uint8Array | undefined, other: Uint8Array | undefined) => {
  if (one === undefined || other === undefined) return one ?? other
  return Buffer.compare(one, other) >= 0 ? one : other
}

/**
 * Pages of several sources as one. What a source has not searched yet may be newer than what
 * another one found, so the page ends where the first of them ended.
 */
export const mergePages = (pages: readonly SubmissionPage[], countMax: number): SubmissionPage => {
  const end = pages.reduce<Uint8Array | undefined>((last, { next }) => later(last, next), undefined)
  const found = pages
    .flatMap(page => page.found)
    .filter(({ id }) => end === undefined || Buffer.compare(id, end) >= 0)
    .toSorted((one, other) => Buffer.compare(other.id, one.id))
  if (found.length <= countMax) return { found, next: end }
  const kept = found.slice(0, countMax)
  return { found: kept, next: kept.at(-1)?.id }
}
