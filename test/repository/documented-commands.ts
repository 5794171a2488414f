// Commands and configurations of the documentation, as an operator copies them.
import { spawnSync } from 'node:child_process'
import { CommanderError, type Command } from 'commander'
import t from 'tap'
import { createProgram } from '../../src/cli/program.js'
import { ConfigError, parseToml, toConfig } from '../../src/config/config.js'
import { blocksOf, pages, readPage } from '../fixtures/docs/markdown.js'

const blocks = pages()
  .filter(page => page !== 'CHANGELOG.md')
  .flatMap(page => blocksOf(readPage(page)).map(block => ({ page, ...block })))
const textsOf = (language: string): readonly { readonly page: string; readonly text: string }[] =>
  blocks.filter(block => block.language === language)

/** What an operator replaces, `<accessId>`, as a word of the shell. */
const filled = (text: string): string => text.replaceAll(/<([\w-]+)>/g, '$1')

t.test('every shell block is a script', async t => {
  const faults = textsOf('sh').flatMap(({ page, text }) => {
    const { status, stderr } = spawnSync('bash', ['-n'], { input: filled(text), encoding: 'utf8' })
    return status === 0 ? [] : [`${page}: ${stderr}`]
  })
  t.strictSame(faults, [])
})

/** Lines of a shell block that run the service's command, without what is before and after it. */
const linesOf = (text: string): readonly string[] =>
  filled(text)
    .replaceAll('\\\n', ' ')
    // The variable of docs/access.md with the options that name the service.
    .replaceAll('$admin', '--config slotline.toml')
    .split('\n')
    .flatMap(line => /^(?:\S+ )*?slotline (\w[^|>&;#]*)/.exec(line)?.[1] ?? [])

const wordsOf = (line: string): readonly string[] =>
  Array.from(line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g), ([, one, two, word]) =>
    String(one ?? two ?? word),
  )

/** Commands that parse, and do nothing. */
const inert = (command: Command): Command => {
  command.exitOverride().configureOutput({ writeErr: () => {} })
  if (command.commands.length === 0) command.action(() => {})
  command.commands.forEach(inert)
  return command
}

const faultOf = (line: string): string | undefined => {
  try {
    inert(createProgram({})).parse(wordsOf(line), { from: 'user' })
    return undefined
  } catch (error) {
    // `--help` ends the parse, too.
    if (error instanceof CommanderError && error.exitCode === 0) return undefined
    return `slotline ${line}: ${(error as Error).message}`
  }
}

t.test('every command of a shell block has its arguments and options', async t => {
  const lines = textsOf('sh').flatMap(({ text }) => linesOf(text))
  t.ok(lines.length > 40, `${lines.length} command lines are found`)
  t.strictSame(
    lines.flatMap(line => faultOf(line) ?? []),
    [],
  )
  t.match(faultOf('backup --config a.toml --network b'), /option '--to <dir>' not specified/)
  t.match(faultOf('verify'), /give --config/)
  t.match(faultOf('config check'), /missing required argument/)
})

t.test('each page of operations begins with what to run or to write', async t => {
  const reference = new Set(['README', 'data-directory', 'known-limits', 'log', 'metrics'])
  for (const page of pages().filter(name => name.startsWith('docs/operations/'))) {
    if (reference.has(/(\w[\w-]*)\.md$/.exec(page)?.[1] ?? '')) continue
    t.match(readPage(page), /^# .+\n\n```(?:sh|toml)\n/, page)
  }
})

/** The table of a list's entry needs the entry. What else a network or a location has is absent. */
const ENTRIES = { networks: 'id = "main"', locations: 'id = "fra"\nname = "Frankfurt"' }
const IS_ABSENT = /^(?:networks|locations)(?:\[0\])?(?:\.\w+)* is missing$/

const completed = (text: string): string => {
  const [first = '', list = ''] = /^\[+(networks|locations)\./.exec(text) ?? []
  return first === '' ? text : `[[${list}]]\n${ENTRIES[list as keyof typeof ENTRIES]}\n${text}`
}

t.test('every configuration has known options and valid values', async t => {
  const faults = textsOf('toml').flatMap(({ page, text }) => {
    try {
      toConfig(parseToml(completed(text), page))
      return []
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      return error.faults.filter(fault => !IS_ABSENT.test(fault)).map(fault => `${page}: ${fault}`)
    }
  })
  t.strictSame(faults, [])
  t.ok(textsOf('toml').length > 5)
})

/** Full names of options and their tables, as docs/configuration.md lists them. */
const optionNames = (): ReadonlySet<string> => {
  const names = new Set<string>()
  for (const section of readPage('docs/configuration.md').split('\n## ').slice(1)) {
    const [, table = ''] = /^`\[+([\w.]+)\]+`/.exec(section) ?? []
    const options = Array.from(section.matchAll(/^\| `(\w+)` \|/gm), ([, name = '']) => name)
    for (const name of [[], ...options.map(option => [option])]) {
      const words = [...table.split('.'), ...name].filter(word => word !== '')
      words.forEach((_, index) => names.add(words.slice(0, index + 1).join('.')))
    }
  }
  return names
}

/** Names of methods, files and webhooks that look like names of options. */
const NO_OPTIONS = new Set(['rpc.discover', 'access.key', 'access.test', 'pools.ts'])

t.test('every option that a page names in full exists', async t => {
  const known = optionNames()
  const tables = Array.from(known).filter(name => !name.includes('.'))
  const option = new RegExp(`\`((?:${tables.join('|')})(?:\\.[a-z]\\w*)+)\``, 'g')
  const named = pages()
    .filter(page => page !== 'CHANGELOG.md' && !page.startsWith('docs/decisions/'))
    .flatMap(page => Array.from(readPage(page).matchAll(option), ([, name = '']) => [page, name]))
  t.ok(named.length > 50, `${named.length} names are found`)
  const isKnown = (name: string): boolean => known.has(name) || NO_OPTIONS.has(name)
  t.strictSame(
    named.filter(([, name = '']) => !isKnown(name)).map(([page, name]) => `${page}: ${name}`),
    [],
  )
})
