import { getDescription, type GenericSchema } from 'valibot'
import { unwrap } from './options.js'
import { configSchema } from './schema.js'

/** One option. */
export type Row = {
  readonly name: string
  /** Completes "must be …". */
  readonly type: string
  readonly isRequired: boolean
  /** Its default, if it has one. */
  readonly fallback: unknown
  readonly reason: string
}

/** One table. */
export type Section = {
  readonly title: string
  readonly intro: string
  readonly rows: readonly Row[]
}

const UNITS: readonly [size: number, name: string][] = [
  [1024 ** 4, 'TiB'],
  [1024 ** 3, 'GiB'],
  [1024 ** 2, 'MiB'],
  [1024, 'KiB'],
]

const formatDefault = (value: unknown, type: string): string => {
  if (value === undefined) return 'none'
  const [size, unit] = UNITS.find(([size]) => Number(value) % size === 0 && value !== 0) ?? []
  const readable =
    type.includes('(bytes)') && size !== undefined ? ` (${Number(value) / size} ${unit})` : ''
  return `\`${JSON.stringify(value)}\`${readable}`
}

/** Reasons of a part's options by option name. */
type Reasons = ReadonlyMap<string, string>

/** Reads the comments of a `defaults` block by the name of the option below each. */
const readReasons = (source: string): Reasons => {
  const [, block = ''] = /^export const defaults = \{\n(.*?)^\}/ms.exec(source) ?? []
  const comments = block.matchAll(/\/\*\*(.*?)\*\/\s*(\w+):/gs)
  return new Map(
    Array.from(comments, ([, comment = '', name = '']) => [
      name,
      comment.replace(/\s*\n\s*\*\s*/g, ' ').trim(),
    ]),
  )
}

/** Finds the part that declares all of these options and the fewest others. */
const reasonsFor = (names: readonly string[], parts: readonly Reasons[]): Reasons | undefined =>
  parts
    .filter(part => names.every(name => part.has(name)))
    .toSorted((one, other) => one.size - other.size)[0]

const entriesOf = (schema: GenericSchema): Readonly<Record<string, GenericSchema>> | undefined =>
  'entries' in schema ? (schema.entries as Record<string, GenericSchema>) : undefined

const toSections = (
  schema: GenericSchema,
  path: string,
  heading: string,
  intro: string,
  parts: readonly Reasons[],
): Section[] => {
  const entries = Object.entries(entriesOf(schema) ?? {})
  const isUndescribed = (entry: GenericSchema): boolean =>
    getDescription(entry) === undefined && entriesOf(unwrap(entry).inner) === undefined
  const undescribed = entries.filter(([, entry]) => isUndescribed(entry)).map(([name]) => name)
  const reasons = reasonsFor(undescribed, parts)
  const rows: Row[] = []
  const below: Section[] = []
  for (const [name, entry] of entries) {
    const { inner, isList } = unwrap(entry)
    const reason = getDescription(entry) ?? reasons?.get(name) ?? ''
    if (entriesOf(inner) !== undefined) {
      const inside = path === '' ? name : `${path}.${name}`
      below.push(
        ...toSections(inner, inside, isList ? `[[${inside}]]` : `[${inside}]`, reason, parts),
      )
      continue
    }
    const message =
      'message' in inner && typeof inner.message === 'string' ? inner.message : 'a text'
    const type = isList ? `a list, each ${message}` : message
    const fallback = 'default' in entry ? entry.default : undefined
    rows.push({ name, type, isRequired: !('wrapped' in entry), fallback, reason })
  }
  return [{ title: heading, intro, rows }, ...below]
}

/** Every option of the file. Reasons are the comments of `defaults` in the sources. */
export const toConfigReference = (sources: Iterable<string>): readonly Section[] =>
  toSections(configSchema, '', 'At the top', '', Array.from(sources, readReasons))

const formatSection = ({ title, intro, rows }: Section): string => {
  const lines = [`## ${title.startsWith('[') ? `\`${title}\`` : title}`, '']
  if (intro !== '') lines.push(intro, '')
  if (rows.length > 0) {
    lines.push('| option | must be | default | why |', '|---|---|---|---|')
    for (const { name, type, isRequired, fallback, reason } of rows) {
      const shown = isRequired ? 'required' : formatDefault(fallback, type)
      lines.push(`| \`${name}\` | ${type} | ${shown} | ${reason.replaceAll('|', '\\|')} |`)
    }
    lines.push('')
  }
  return lines.join('\n')
}

/** Content of `docs/configuration.md`. */
export const formatConfiguration = (sources: Iterable<string>): string =>
  [
    '# Configuration',
    '',
    'One TOML file. This page is printed from the code. `slotline init` writes a file to begin with;',
    '`slotline config check FILE` prints everything that is wrong with one; `slotline config dump',
    '[FILE]` prints the effective values, without a file those of an example, and `slotline config dump',
    '--all` this page as a file. An unknown key is an error, and a former one names its replacement.',
    'Times are in milliseconds and sizes in bytes. A path is relative to the folder of the file.',
    '',
    'The value `"$NAME"` of an option that may contain a secret is that variable of the environment. An',
    'option that ends with `File` beside such an option is a file with the secret.',
    '',
    ...toConfigReference(sources).map(formatSection),
  ].join('\n')
