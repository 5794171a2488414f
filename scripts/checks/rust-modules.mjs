// Finds import cycles between the files of a Rust crate. The compiler allows them. Code of tests is
// left out: it is below the module that it tests and reads the whole crate.
import { dirname, join } from 'node:path/posix'

const isTest = file => /\/(?:tests?|testing)\/|tests?\.rs$/.test(file)
const withoutTests = text => text.replace(/^#\[cfg\(test\)\]\nmod \w+ \{[^]*/m, '')
const withoutComments = text => text.replace(/\/\/.*$/gm, '')

/** `a::{b, c::{self, d}}` as `a::b`, `a::c`, `a::c::d`. */
const expand = path => {
  const at = path.indexOf('{')
  if (at < 0) return [path.replace(/(?:::)?(?:self|\*)$|\s+as\s+\w+$/, '').trim()]
  const prefix = path.slice(0, at)
  const parts = []
  let depth = 0
  let part = ''
  for (const letter of path.slice(at + 1, path.lastIndexOf('}'))) {
    if (letter === '{') depth += 1
    if (letter === '}') depth -= 1
    if (letter === ',' && depth === 0) {
      parts.push(part)
      part = ''
    } else part += letter
  }
  parts.push(part)
  return parts.flatMap(inner => {
    const name = inner.trim()
    return name === '' ? [] : expand(prefix + name)
  })
}

/** The file of each module of a crate, by its path from the crate's root: `` is the root. */
const modulesOf = (src, files) =>
  new Map(
    files.map(file => {
      const name = file.slice(src.length + 1, -'.rs'.length)
      return [name === 'lib' ? '' : name.replace(/\/mod$/, ''), file]
    }),
  )

/** The modules that a file imports from, or names in a path. */
const importsOf = (name, text, modules) => {
  const code = withoutComments(withoutTests(text))
  const declared = code.matchAll(/^\s*(?:pub(?:\([^)]*\))? )?mod (\w+);/gm)
  const inside = new Set(Array.from(declared, ([, child]) => child))
  const uses = Array.from(code.matchAll(/\buse ([^;]+);/g), ([, path]) => path)
  const paths = [
    ...uses.flatMap(path => expand(path.replaceAll(/\s+/g, ' '))),
    ...Array.from(code.matchAll(/(?<![\w:])\w+(?:::\w+)+/g), ([path]) => path),
  ]
  return paths.flatMap(path => {
    const parts = path.split('::')
    let from = name === '' ? [] : name.split('/')
    if (parts[0] === 'crate') from = []
    else if (parts[0] === 'super') from = from.slice(0, -1)
    else if (parts[0] !== 'self' && !inside.has(parts[0])) return []
    if (['crate', 'super', 'self'].includes(parts[0])) parts.shift()
    while (parts[0] === 'super') {
      parts.shift()
      from = from.slice(0, -1)
    }
    while (parts.length > 0 && modules.has([...from, parts[0]].join('/'))) from.push(parts.shift())
    const found = from.join('/')
    return found === name || !modules.has(found) ? [] : [found]
  })
}

/** One cycle through a module, as a list of modules that starts and ends with it. */
const cycleThrough = (start, imports) => {
  const trails = [[start]]
  const seen = new Set()
  for (const trail of trails)
    for (const next of imports.get(trail.at(-1)) ?? []) {
      if (next === start) return [...trail, next]
      if (!seen.has(next)) trails.push([...trail, next])
      seen.add(next)
    }
  return undefined
}

/** The import cycles of every crate; `read` reads a file. */
export const rustCycles = (files, read) => {
  const crates = files.filter(file => file.endsWith('/src/lib.rs')).map(file => dirname(file))
  return crates.flatMap(src => {
    const own = files.filter(file => file.startsWith(`${src}/`) && file.endsWith('.rs'))
    const modules = modulesOf(src, own)
    const imports = new Map(
      Array.from(modules, ([name, file]) => [
        name,
        isTest(file) ? [] : importsOf(name, read(file), modules),
      ]),
    )
    const reported = new Set()
    return Array.from(modules.keys()).flatMap(name => {
      const cycle = reported.has(name) ? undefined : cycleThrough(name, imports)
      if (cycle === undefined) return []
      for (const part of cycle) reported.add(part)
      const trail = cycle.map(part => modules.get(part).slice(src.length + 1))
      return [`${join(src, trail[0])}: import cycle ${trail.join(' → ')}`]
    })
  })
}
