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

const entriesOf = (schema: GenericSchema): Readonly<Record<string, GenericSchema>> | undefined =>
  'entries' in schema ? (schema.entries as Record<string, GenericSchema>) : undefined

/** A file in place of a secret: the page says once what all of them are. */
const isSecretFile = (name: string, names: readonly string[]): boolean =>
  name.endsWith('File') && names.includes(name.slice(0, -'File'.length))

const toSections = (schema: GenericSchema, path: string, heading: string): Section[] => {
  const entries = Object.entries(entriesOf(schema) ?? {})
  const names = entries.map(([name]) => name)
  const rows: Row[] = []
  const below: Section[] = []
  for (const [name, entry] of entries) {
    const { inner, isList } = unwrap(entry)
    const reason = getDescription(entry) ?? ''
    if (entriesOf(inner) === undefined) {
      if (isSecretFile(name, names)) continue
      const message =
        'message' in inner && typeof inner.message === 'string' ? inner.message : 'a text'
      const type = isList ? `a list, each ${message}` : message
      const fallback = 'default' in entry ? entry.default : undefined
      rows.push({ name, type, isRequired: !('wrapped' in entry), fallback, reason })
      continue
    }
    const inside = path === '' ? name : `${path}.${name}`
    const [own, ...more] = toSections(inner, inside, isList ? `[[${inside}]]` : `[${inside}]`)
    if (own !== undefined) below.push({ ...own, intro: reason }, ...more)
  }
  // A table without a reason that has no option is for constants.
  const isEmpty = rows.length === 0 && below.length === 0
  return isEmpty ? [] : [{ title: heading, intro: '', rows }, ...below]
}

/** Every option of the file. */
export const toConfigReference = (): readonly Section[] =>
  toSections(configSchema, '', 'At the top')

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
export const formatConfiguration = (): string =>
  [
    '# Configuration',
    '',
    'One TOML file. This page is printed from the code. `slotline init` writes a file to begin with;',
    '`slotline config check FILE` prints everything that is wrong with one; `slotline config dump',
    '[FILE]` prints the effective values, without a file those of an example, and `slotline config dump',
    '--all` this page as a file. An unknown key is an error.',
    'Times are in milliseconds and sizes in bytes. A path is relative to the folder of the file.',
    '',
    'The value `"$NAME"` of an option that may contain a secret is that variable of the environment. An',
    'option of its name with `File` at the end, in its place, is a file with the secret.',
    '',
    ...toConfigReference().map(formatSection),
  ].join('\n')
