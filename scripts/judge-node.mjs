/**
 * What `engines` of package.json says of a version of Node: nothing where the tests run on it.
 * `ranges` is a list of `^<major>.<minor>.0`, ascending.
 */
export const judgeNode = (version, ranges) => {
  const [major, minor] = version.split('.').map(Number)
  const first = ranges
    .split(' || ')
    .map(range => range.slice(1).split('.').map(Number))
    .findLast(([startMajor]) => startMajor <= major)
  if (first === undefined || (first[0] === major && minor < first[1]))
    return { refusal: `Node ${version} is too old: Slotline runs on Node ${ranges}` }
  if (first[0] !== major)
    return { warning: `Node ${version} is not tested, only Node ${ranges} is` }
  return {}
}
