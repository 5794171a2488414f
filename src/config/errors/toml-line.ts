/**
 * Path of a table header: array tables are counted, and later headers refer to their last element.
 */
const toTable = (
  words: readonly string[],
  isArray: boolean,
  lastIndexes: Map<string, number>,
): string[] => {
  const path: string[] = []
  for (const [at, word] of words.entries()) {
    path.push(word)
    const name = path.join('.')
    const last = lastIndexes.get(name)
    if (isArray && at === words.length - 1) lastIndexes.set(name, (last ?? -1) + 1)
    const index = lastIndexes.get(name)
    if (index !== undefined) path.push(String(index))
  }
  return path
}

/**
 * Line number that sets the value at `keys`, or else that of the nearest enclosing table. Searches
 * for headers and keys at the start of lines, since the parser keeps no positions.
 */
export const findTomlLine = (source: string, keys: readonly string[]): number | undefined => {
  const lastIndexes = new Map<string, number>()
  let table: string[] = []
  let depth = 0
  let found: number | undefined
  for (const [index, line] of source.split('\n').entries()) {
    const [, brackets, head, key] = /^\s*(?:(\[\[?)\s*([\w.-]+)|([\w.-]+)\s*=)/.exec(line) ?? []
    if (head !== undefined) table = toTable(head.split('.'), brackets === '[[', lastIndexes)
    else if (key === undefined) continue
    const path = key === undefined ? table : [...table, ...key.split('.')]
    if (path.length > depth && path.every((word, at) => word === keys[at]))
      [depth, found] = [path.length, index + 1]
  }
  return found
}
