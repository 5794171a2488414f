/** The patterns of a route: a slash at the end of a path makes no difference. */
export const patternsOf = (pattern: string): readonly string[] =>
  pattern === '/' || pattern.endsWith('*') ? [pattern] : [pattern, `${pattern}/`]
