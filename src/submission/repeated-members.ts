import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COMMA,
  END,
  JsonScanner,
  OPEN_ARRAY,
  OPEN_OBJECT,
  STRING,
} from '../shared/json-scanner.js'

/** The name that a string of JSON spells, whichever of its characters are escaped. */
const toName = (token: string): string =>
  token.includes('\\') ? String(JSON.parse(token)) : token.slice(1, -1)

/**
 * True where an object of the text, at any depth, has two members of one name. The text is known to
 * be JSON.
 */
export const hasRepeatedMember = (text: string): boolean => {
  const scanner = new JsonScanner(text)
  /** The names in each open object, undefined for an array, and null before the first name. */
  const open: (Set<string> | null | undefined)[] = []
  // In an object, a string after `{` or `,` is the name of a member.
  let isName = false
  for (let token = scanner.next(); token !== END; token = scanner.next()) {
    switch (token) {
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        open.push(token === OPEN_OBJECT ? null : undefined)
        isName = true
        break
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        open.pop()
        isName = false
        break
      case COMMA:
        isName = true
        break
      case STRING: {
        const names = isName ? open.at(-1) : undefined
        isName = false
        if (names === undefined) break
        const name = toName(text.slice(scanner.index, scanner.end + 1))
        if (names?.has(name) === true) return true
        if (names === null) open[open.length - 1] = new Set([name])
        else names.add(name)
      }
    }
  }
  return false
}
