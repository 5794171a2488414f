import { setImmediate as nextTurn } from 'node:timers/promises'
import * as addon from '#native'
import type { AnswerError } from '../../shared/errors.js'
import { callNative } from '../errors.js'

/** Bytes that are searched in one turn of the event loop: of the worst ones that takes 10 ms. */
const TURN_BYTES = 256 * 1024

/** Finds a secret in every form in which a server may repeat its input. */
export type SecretForms = {
  /**
   * Begins and ends of the forms in a text, in turn. The text must not change meanwhile; only the
   * search of a long one takes more than this turn of the event loop.
   */
  find(text: Uint8Array): readonly number[] | Promise<readonly number[]>
}

/**
 * Texts to find, in small and capital letters: `exact` as they are, `escapable` whichever of their
 * characters are escaped with backslashes, percent signs or HTML entities.
 */
export const createSecretForms = (exact: string[], escapable: string[]): SecretForms => {
  const native = callNative(() => new addon.SecretForms(exact, escapable))
  const findIn = (text: Uint8Array, from: number, to: number): readonly number[] =>
    Array.from(callNative(() => native.find(text, from, to)))
  const findInTurns = async (text: Uint8Array): Promise<readonly number[]> => {
    const all: number[] = []
    for (let from = 0; from < text.length;) {
      const to = from + TURN_BYTES
      const found = findIn(text, from, to)
      for (const position of found) all.push(position)
      from = Math.max(to, found.at(-1) ?? 0)
      await nextTurn()
    }
    return all
  }
  return {
    find: text => (text.length <= TURN_BYTES ? findIn(text, 0, text.length) : findInTurns(text)),
  }
}

/** Bytes of a message that are read. Cut where an escape ends: it is decoded as JSON. */
const MESSAGE_BYTES_MAX = 1_024

const decode = (bytes: Uint8Array): string => {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
  // An escape that is cut in two has up to 5 characters before the end.
  for (let end = text.length; end >= Math.max(0, text.length - 6); end--)
    try {
      return String(JSON.parse(`"${text.slice(0, end)}"`))
    } catch {
      continue
    }
  return ''
}

/** A code as it is counted: 0 where it is no whole number of 32 bits. */
export const toErrorCode = (code: unknown): number =>
  typeof code === 'number' && Number.isInteger(code) && Math.abs(code) < 2 ** 31 ? code : 0

const errorOf = (answer: Uint8Array, scan: addon.AnswerErrorScan): AnswerError | undefined => {
  const found = callNative(() => scan.found())
  if (found === null) return undefined
  const { code, messageStart: start = 0, messageEnd: end = 0 } = found
  const bytes = answer.subarray(start, Math.min(end, start + MESSAGE_BYTES_MAX))
  return { code: toErrorCode(code), message: decode(bytes) }
}

/**
 * The top-level `error` of one JSON-RPC answer, other than `null`; the answer is not parsed. Only
 * that of a long one takes more than this turn of the event loop.
 */
export const findAnswerError = (
  answer: Uint8Array,
): AnswerError | undefined | Promise<AnswerError | undefined> => {
  const scan = callNative(() => new addon.AnswerErrorScan())
  if (answer.length > TURN_BYTES) return findInTurns(answer, scan)
  callNative(() => scan.feed(answer))
  return errorOf(answer, scan)
}

const findInTurns = async (
  answer: Uint8Array,
  scan: addon.AnswerErrorScan,
): Promise<AnswerError | undefined> => {
  for (let from = 0; from < answer.length; from += TURN_BYTES) {
    callNative(() => scan.feed(answer.subarray(from, from + TURN_BYTES)))
    await nextTurn()
  }
  return errorOf(answer, scan)
}
