import { stringify } from 'smol-toml'
import { EXAMPLE } from './config.js'
import { toConfigReference, type Row, type Section } from './reference.js'

const COLUMNS_MAX = 100

const HEAD = `Every option of Slotline with its default. A line that begins with "#" and a name is an option
that has its default: remove the "#" of the line, and of the header of its table, to change it.
Tables can be in any order; those of a network or location belong to the last one before them.`

const wrap = (text: string): string[] => {
  const lines: string[] = []
  let line = '#'
  for (const word of text.split(/\s+/)) {
    if (line.length + 1 + word.length > COLUMNS_MAX) [line] = ['#', lines.push(line)]
    line += ` ${word}`
  }
  return [...lines, line]
}

/** The options that the example has to have: they are no comments. */
const EXAMPLES: Readonly<Record<string, object>> = {
  '[[networks]]': { id: EXAMPLE.networks[0]?.id },
  '[networks.feed]': { endpoint: EXAMPLE.networks[0]?.feed.endpoint },
  '[[locations]]': { id: EXAMPLE.locations[0]?.id, name: EXAMPLE.locations[0]?.name },
  '[[locations.listeners]]': EXAMPLE.locations[0]?.listeners[0] ?? {},
}

const formatRow = (
  { fallback, isRequired, name, reason, type }: Row,
  example: object,
): string[] => {
  const about = wrap(`${reason} Must be ${type}.`)
  if (name in example)
    return [...about, stringify({ [name]: example[name as keyof typeof example] }).trimEnd()]
  if (fallback === undefined) return [...about, `#${name} = # ${isRequired ? 'required' : 'none'}`]
  return [...about, `#${stringify({ [name]: fallback }).trimEnd()}`]
}

const formatSection = ({ intro, rows, title }: Section): string => {
  const example = EXAMPLES[title] ?? {}
  const isExample = title in EXAMPLES
  const header = title.startsWith('[') ? [isExample ? title : `#${title}`] : []
  const about = intro === '' ? [] : wrap(intro)
  return [...about, ...header, ...rows.flatMap(row => formatRow(row, example))].join('\n')
}

/** Output of `slotline config dump --all`: a configuration of which nearly all is comments. */
export const formatDefaults = (): string => {
  const head = HEAD.split('\n').map(line => `# ${line}`)
  const sections = toConfigReference().map(formatSection)
  return `${[head.join('\n'), ...sections].join('\n\n')}\n`
}
