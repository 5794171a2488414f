// Which regular expressions take time linear in their input. Those that run on bytes of clients and
// upstreams must: a backtracking one takes time for the square of what an attacker sends.
import ts from 'typescript'

/** Folders whose code never reads what a client or an upstream sends. */
const OWN_BYTES =
  /^src\/(?:cli|config|dashboard\/pages|processes|sandbox|storage|supervision)\/|^src\/[^/]+$/

/** A longer match counts as unbounded. */
const LENGTH_MAX = 256
/** On the line before a pattern: why it is linear although its shape does not show it. */
const REASON = /\/\/ linear: \S/

/** Characters that tell sets apart: of two that hold any other character, both may hold it. */
const CHARS = [
  ...Array.from({ length: 768 }, (_, code) => String.fromCharCode(code)),
  ...Array.from({ length: 500 }, (_, nth) => String.fromCharCode(768 + nth * 110)),
]

const membersOf = (source, flags) => {
  const pattern = new RegExp(`^(?:${source})$`, flags.replace(/[gmy]/g, ''))
  return new Set(CHARS.filter(char => pattern.test(char)))
}

/**
 * Parses a pattern into alternatives of terms: `set`, `group`, or an assertion as `edge`. Throws at
 * what is none of these: a back reference, a look-around.
 */
const parse = (source, flags) => {
  let at = 0
  const take = pattern => {
    pattern.lastIndex = at
    const found = pattern.exec(source)?.[0]
    at += found?.length ?? 0
    return found
  }
  const atom = () => {
    const edge = take(/\\[bB]|[$^]/y)
    if (edge !== undefined) return { edge }
    if (take(/\((?:\?:|\?<\w+>|(?!\?))/y) !== undefined) {
      const group = alternatives()
      if (take(/\)/y) === undefined) throw new Error('an open group')
      return { group }
    }
    const set = take(
      /\[(?:\\.|[^\\\]])*\]|\\(?:x..|u\{\w+\}|u.{4}|[pP]\{[^}]*\}|[^1-9k])|[^\\()|[\]{}*+?]|[\]{}]/y,
    )
    if (set === undefined) throw new Error(`no term at ${at}`)
    return { set: membersOf(set, flags) }
  }
  const term = () => {
    const found = atom()
    const [, least, comma, most] = /^\{(\d+)(,?)(\d*)\}$/.exec(take(/\{\d+,?\d*\}/y) ?? '') ?? []
    if (least !== undefined)
      return {
        ...found,
        isOptional: least === '0',
        max: comma === '' ? Number(least) : most === '' ? Infinity : Number(most),
      }
    const sign = take(/[*+?]/y)
    take(/\?/y)
    return {
      ...found,
      max: sign === undefined || sign === '?' ? 1 : Infinity,
      isOptional: sign === '?' || sign === '*',
    }
  }
  const alternatives = () => {
    const all = [[]]
    while (at < source.length && source[at] !== ')') {
      if (take(/\|/y) !== undefined) all.push([])
      else all.at(-1).push(term())
    }
    return all
  }
  return alternatives()
}

const lengthOf = alternatives =>
  Math.max(
    ...alternatives.map(terms =>
      terms.reduce((sum, { edge, set, group, max }) => {
        if (edge !== undefined) return sum
        return sum + max * (set === undefined ? lengthOf(group) : 1)
      }, 0),
    ),
  )

/** The sequences of terms of all alternatives; a group with a repetition stays a term. */
const pathsOf = alternatives =>
  alternatives.flatMap(terms =>
    terms.reduce(
      (paths, term) => {
        const inner =
          term.group === undefined || term.max > 1
            ? [[term]]
            : [...pathsOf(term.group), ...(term.isOptional ? [[]] : [])]
        return paths.flatMap(path => inner.map(added => path.concat(added)))
      },
      [[]],
    ),
  )

const meets = (one, other) => [...one].some(char => other.has(char))

/**
 * How a loop may be left at several places: `set` where what follows may begin with a character of
 * it, `edge` where only an assertion decides; undefined where it is left at one place.
 */
const ambiguityOf = (path, index) => {
  let kind
  for (const { edge, set, isOptional } of path.slice(index + 1)) {
    if (edge !== undefined) kind = 'edge'
    else if (set === undefined || meets(path[index].set, set)) return 'set'
    else if (!isOptional) return kind
  }
  return kind
}

const isLinearPath = (path, flags) => {
  const isLoop = ({ edge, group, set, max }) =>
    edge === undefined && max * (set === undefined ? lengthOf(group) : 1) > LENGTH_MAX
  const loops = path.flatMap((term, index) => (isLoop(term) ? [index] : []))
  if (loops.length === 0) return true
  if (loops.some(index => path[index].set === undefined)) return false
  const [first] = path
  const isLast = loops.length === 1 && loops[0] === path.length - 1
  // Nothing can fail behind the only loop.
  if (isLast) return true
  const isAnchored = flags.includes('y') || (first.edge === '^' && !flags.includes('m'))
  // No match begins within a loop of another one.
  const isApart =
    first.set !== undefined &&
    !first.isOptional &&
    first.max === 1 &&
    loops.every(index => !meets(first.set, path[index].set))
  // From each place at which the last loop is left, only a bounded rest is tried.
  const others = loops.slice(0, -1)
  return (isAnchored || isApart) && others.every(index => ambiguityOf(path, index) !== 'set')
}

/** Whether the shape of a pattern shows that it takes linear time. */
const isLinear = (source, flags) => {
  try {
    return pathsOf(parse(source, flags)).every(path => isLinearPath(path, flags))
  } catch {
    return false
  }
}

/** The patterns of a file that are not shown to be linear. */
export const patternFaults = (file, text) => {
  if (!/^src\/.*\.tsx?$/.test(file) || OWN_BYTES.test(file)) return []
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  const lines = text.split('\n')
  const faults = []
  const visit = node => {
    const isLiteral = ts.isRegularExpressionLiteral(node)
    const isMade =
      (ts.isNewExpression(node) || ts.isCallExpression(node)) &&
      node.expression.getText() === 'RegExp'
    if (isLiteral || isMade) {
      const { line } = source.getLineAndCharacterOfPosition(node.getStart())
      const [, pattern = '', flags = ''] = isLiteral ? /^\/(.*)\/(\w*)$/s.exec(node.text) : []
      const isShown = isLiteral && isLinear(pattern, flags)
      if (!isShown && !REASON.test(lines[line - 1] ?? ''))
        faults.push(`${file}:${line + 1}: not shown to be linear: ${node.getText()}`)
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return faults
}
