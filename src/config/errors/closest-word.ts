/** Edit distance: number of inserts, deletes, replacements and swaps between two words. */
const distance = (from: string, to: string): number => {
  let before: number[] = []
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const isSame = from[i - 1] === to[j - 1]
      let steps = Math.min(
        (row[j] ?? 0) + 1,
        (next[j - 1] ?? 0) + 1,
        (row[j - 1] ?? 0) + (isSame ? 0 : 1),
      )
      if (from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1])
        steps = Math.min(steps, (before[j - 2] ?? 0) + 1)
      next.push(steps)
    }
    before = row
    row = next
  }
  return row[to.length] ?? 0
}

/** The known word most similar to an unknown one; undefined if none is similar. */
export const closestWord = (word: string, known: readonly string[]): string | undefined => {
  let best: string | undefined
  let least = Math.max(2, Math.floor(word.length / 3)) + 1
  for (const candidate of known) {
    const steps = distance(word.toLowerCase(), candidate.toLowerCase())
    if (steps < least) [best, least] = [candidate, steps]
  }
  return best
}
