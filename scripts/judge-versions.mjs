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

/** Why the Rust with this line of `rustc --version` is refused; undefined: there is no Rust. */
export const judgeRust = (line, oldest) => {
  const advice = `Slotline is built with Rust ${oldest} or newer (rustup update, https://rustup.rs)`
  const [, version, major, minor] = /^rustc ((\d+)\.(\d+)\.\d+)/.exec(line ?? '') ?? []
  if (version === undefined) return { refusal: `Rust is missing: ${advice}` }
  const [oldestMajor, oldestMinor] = oldest.split('.').map(Number)
  const isOld =
    Number(major) < oldestMajor || (Number(major) === oldestMajor && Number(minor) < oldestMinor)
  return isOld ? { refusal: `Rust ${version} is too old: ${advice}` } : {}
}
