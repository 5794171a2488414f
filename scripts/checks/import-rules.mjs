// That docs/architecture.md states the import rules of .dependency-cruiser.mjs.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { FOLDERS } from '../../.dependency-cruiser.mjs'

const PAGE = 'docs/architecture.md'
/** Every folder may import it; its own row says so. */
const EVERYWHERE = 'shared'
const NO_RULE = 'everything but `src/sandbox/`'

/** The last cell of each row of the table, by the folder of src/ that the row describes. */
const rowsOf = text => {
  const rows = text.matchAll(/^\| [^|]*`src\/([a-z]+)\/`[^|]*\|[^|]*\|([^|]*)\|$/gm)
  return new Map(Array.from(rows, ([, folder, cell]) => [folder, cell.trim()]))
}

const cellOf = allowed =>
  allowed === undefined ? NO_RULE : allowed.filter(folder => folder !== EVERYWHERE).join(', ')

/** Faults of the page of a checkout; none where it has no such page. */
export const importRuleFaults = root => {
  const path = join(root, PAGE)
  if (!existsSync(path)) return []
  const rows = rowsOf(readFileSync(path, 'utf8'))
  const unknown = Array.from(rows.keys()).filter(folder => !Object.hasOwn(FOLDERS, folder))
  return [
    ...unknown.map(folder => `${PAGE}: src/${folder}/ has no row in .dependency-cruiser.mjs`),
    ...Object.entries(FOLDERS).flatMap(([folder, allowed]) => {
      const [cell, expected] = [rows.get(folder), cellOf(allowed)]
      if (cell === undefined) return [`${PAGE}: no row for src/${folder}/`]
      return cell === expected ? [] : [`${PAGE}: src/${folder}/ may import: ${expected || 'none'}`]
    }),
  ]
}
