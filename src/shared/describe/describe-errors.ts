import { ERRORS, type ErrorName, type Row } from '../errors.js'

/** An error as OpenRPC describes it. */
export type ErrorDescription = { readonly code: number; readonly message: string }

/** The errors of a method, one for each code, with all their texts, as OpenRPC asks for. */
export const describeErrors = (names: Iterable<ErrorName>): readonly ErrorDescription[] => {
  const byCode = new Map<number, Set<string>>()
  for (const name of names) {
    const { code, message }: Row = ERRORS[name]
    if (code === undefined) continue
    const texts = byCode.get(code) ?? new Set()
    byCode.set(code, texts.add(message))
  }
  return Array.from(byCode, ([code, texts]) => ({ code, message: [...texts].join(' | ') }))
}
