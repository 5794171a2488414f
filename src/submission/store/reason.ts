import { isMap, type Members, parseJson } from '../../shared/values.js'
import { isInBlock, type Submission } from './submission.js'

/** `InsufficientFundsForFee` as `insufficient funds for fee`. */
const toWords = (name: string): string =>
  name
    .replace(/([a-z0-9])([A-Z])/g, (_, before: string, after: string) => `${before} ${after}`)
    .toLowerCase()

/** The error of an instruction; one of a program is shown as its documentation shows it. */
const explainInstruction = (error: unknown): string => {
  if (typeof error === 'string') return toWords(error)
  if (!isMap(error)) return JSON.stringify(error)
  const { Custom: code } = error
  return typeof code === 'number'
    ? `custom program error ${code} (0x${code.toString(16)})`
    : explainNamed(error)
}

/** An error that is a map of one name to details. */
const explainNamed = (error: Members): string => {
  const [[name, details] = []] = Object.entries(error)
  return name === undefined ? '{}' : `${toWords(name)}: ${JSON.stringify(details)}`
}

/** The chain's error of a transaction, given as JSON, in words. Instructions count from 1. */
export const explainChainError = (json: string): string => {
  const error = parseJson(json)
  if (typeof error === 'string') return toWords(error)
  if (!isMap(error)) return json
  const { InstructionError: ofInstruction } = error
  if (!Array.isArray(ofInstruction)) return explainNamed(error)
  const [index, inner]: readonly unknown[] = ofInstruction
  return `instruction ${Number(index) + 1}: ${explainInstruction(inner)}`
}

/** The message of an upstream's error, given as JSON, or what the upstream said otherwise. */
const refusalOf = ({ error, engine }: Submission): string => {
  const parsed = error === null ? undefined : parseJson(error)
  if (isMap(parsed) && typeof parsed['message'] === 'string') return parsed['message']
  if (error !== null) return error
  if (engine === null) return 'refused'
  const words = engine.words.trim()
  return words === '' ? `HTTP status ${engine.status}` : `HTTP status ${engine.status}: ${words}`
}

/** Whether none of its transactions can land any more. */
const isOver = ({ landing }: Submission): boolean =>
  landing?.transactions.every(
    fate => fate !== null && (isInBlock(fate) || fate.end !== 'unseen'),
  ) ?? false

/** Why a submission was not accepted, or its answer is not known; null where there is no reason. */
export const reasonOf = (submission: Submission): string | null => {
  const { checks, engine, error, outcome } = submission
  switch (outcome) {
    case 'pending':
      return null
    case 'accepted':
      // Of a batch of which some were accepted.
      return error === null ? null : refusalOf(submission)
    case 'invalid':
      return checks
    case 'refused':
      return refusalOf(submission)
    case 'full':
      if (checks !== 'passed') return checks
      return engine === null
        ? 'no turn in time under the rate of the route, or too many in flight'
        : `no capacity at the upstream: ${refusalOf(submission)}`
    case 'unreachable':
      return 'no connection to the upstream; nothing was sent'
    case 'unknown':
      return isOver(submission)
        ? 'sent, but no complete answer came'
        : 'sent, but no complete answer came; it may land'
  }
}
