// Wordings that a native technical writer would not use, each with the usual one.
const WORDINGS = [
  [/\bSpoken are\b/, 'supports'],
  [/\bTimes are (?:those of|UTC)\b/, 'Times are in …'],
  [/\b(?:machine|edge|process|stream|page)s? says? (?:its|itself)\b/, 'reports'],
  [/`data` is that of\b/, '`data` has the fields of'],
  [/\b(?:is|are) (?:that|those) of (?:the route|reads|a cluster|one block)\b/, 'is the same as'],
  [/\bnot to be had\b/, 'missing'],
]
/** Those of pages only. */
const WORDINGS_OF_PAGES = [
  [/\bwhere there (?:is|are)\b/i, 'if'],
  [/\bis asked for\b/, 'is requested'],
  [/\b(?:is|are) (?:that|those) of `/, 'is the same as'],
]

/** Name the wordings themselves. docs/configuration.md is made from the sources. */
const OWN =
  /^(?:scripts\/checks\/words\.mjs|test\/soak\/repository\/lint\.ts|docs\/configuration\.md)$/

/** Faults of a text file of the repository. */
export const wordFaults = (file, text) => {
  if (OWN.test(file)) return []
  const wordings = file.endsWith('.md') ? [...WORDINGS, ...WORDINGS_OF_PAGES] : WORDINGS
  return text.split('\n').flatMap((line, index) =>
    wordings.flatMap(([pattern, usual]) => {
      const [found] = pattern.exec(line) ?? []
      return found === undefined ? [] : [`${file}:${index + 1}: "${found}": write "${usual}"`]
    }),
  )
}
