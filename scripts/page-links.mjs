/** Pages of the documentation and what they link. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

/** Targets of links and images in a page of Markdown that are files, relative to the page. */
const linksOf = text =>
  Array.from(text.matchAll(/\]\(([^)\s]+)\)/g), ([, target]) => target.split('#', 1)[0]).filter(
    target => target !== '' && !/^[a-z]+:/i.test(target),
  )

/**
 * Every file and folder that is reached by links from these pages, themselves included; paths are
 * relative to `root`. Throws where one does not exist.
 */
export const linkedFiles = (root, pages) => {
  const found = new Set()
  const visit = (path, from) => {
    if (found.has(path)) return
    if (path.startsWith('..') || !existsSync(join(root, path)))
      throw new Error(`${from} links ${path}, which does not exist`)
    found.add(path)
    if (!path.endsWith('.md')) return
    for (const link of linksOf(readFileSync(join(root, path), 'utf8')))
      visit(normalize(join(dirname(path), link)), path)
  }
  for (const page of pages) visit(page, 'the package')
  return [...found].toSorted()
}
