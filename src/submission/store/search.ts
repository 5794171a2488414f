import type { SubmissionState } from '../../shared/submission-states.js'
import { stateOf } from './state.js'
import type { StoredSubmission, Submission, SubmissionRoute } from './submission.js'

/** Which submissions of an access are wanted. */
export type SubmissionFilter = {
  readonly accessId: string
  readonly route?: SubmissionRoute | undefined
  readonly state?: SubmissionState | undefined
  /** Base58; one of the submission's. */
  readonly signature?: string | undefined
  readonly network?: string | undefined
  readonly location?: string | undefined
}

/** Part of what a search finds, newest first. */
export type SubmissionPage = {
  readonly found: readonly StoredSubmission[]
  /** The search continues with the submissions before this one; undefined at its end. */
  readonly next: Uint8Array | undefined
}

/** Bounds of one search. */
export type SearchBounds = {
  /** The search is for submissions before this id, and from this one on. */
  readonly before?: Uint8Array | undefined
  readonly from?: Uint8Array | undefined
  readonly countMax: number
  readonly visitMax: number
}

/** A quick test of a row, which may be true of others, and one of a submission. */
export type SearchTests = {
  readonly isRow: (row: Buffer) => boolean
  readonly isFound: (submission: Submission) => boolean
}

/** A quick test of a stored row, which may be true of further rows. */
export const createRowTest = ({
  accessId,
  location,
  network,
  route,
  signature,
}: SubmissionFilter): ((row: Buffer) => boolean) => {
  const texts = [accessId, location, network, route, signature].filter(one => one !== undefined)
  const wanted = texts.map(text => Buffer.from(text))
  return row => wanted.every(bytes => row.includes(bytes))
}

/** Whether a submission is wanted. */
export const isWanted = (
  submission: Submission,
  { accessId, location, network, route, signature, state }: SubmissionFilter,
  times: Parameters<typeof stateOf>[1],
): boolean =>
  submission.accessId === accessId &&
  (network === undefined || submission.network === network) &&
  (location === undefined || submission.location === location) &&
  (route === undefined || submission.route === route) &&
  (signature === undefined || submission.signatures.includes(signature)) &&
  (state === undefined || stateOf(submission, times) === state)
