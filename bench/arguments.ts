/** What a run was asked to do. */
export type Arguments = {
  readonly parts: ReadonlySet<string>
  /** Small sizes and short times: whether everything works. */
  readonly isQuick: boolean
  /** Writes this run's figures as the ones to compare with. */
  readonly savesBaseline: boolean
}

const FLAGS = ['--quick', '--save-baseline'] as const

/** Reads the command line. Throws an error of one line for the user. */
export const parseArguments = (
  words: readonly string[],
  { usual, onDemand }: { readonly usual: readonly string[]; readonly onDemand: readonly string[] },
): Arguments => {
  const parts = [...usual, ...onDemand]
  const known = [...parts, ...FLAGS]
  const unknown = words.find(word => !known.includes(word))
  if (unknown !== undefined) throw new Error(`${unknown} is unknown; there are ${known.join(', ')}`)
  const named = words.filter(word => parts.includes(word))
  return {
    parts: new Set(named.length > 0 ? named : usual),
    isQuick: words.includes('--quick'),
    savesBaseline: words.includes('--save-baseline'),
  }
}
