import type { Command } from 'commander'
import t from 'tap'
import { createProgram } from '../../src/cli/program.js'
import { blocksOf, pages, readPage } from '../fixtures/docs/markdown.js'

/** Command lines of a page, in shell blocks and in inline code, without `slotline`. */
const commandsOf = (page: string): string[] => {
  const text = readPage(page).replaceAll('\\\n', '')
  const shell = blocksOf(text)
    .filter(({ language }) => language === 'sh')
    .flatMap(block => block.text.split('\n'))
  const inline = Array.from(text.matchAll(/`([^`]+)`/g), ([, code = '']) => code)
  return [...shell, ...inline].flatMap(line => /^slotline ([a-z].*)/s.exec(line)?.[1] ?? [])
}

/** The command that a line names, and what follows it. */
const resolve = (program: Command, line: string): [command: Command, rest: string[]] => {
  const words = line.split(/\s+/)
  let command = program
  for (;;) {
    const next = command.commands.find(each => each.name() === words[0])
    if (next === undefined) return [command, words]
    command = next
    words.shift()
  }
}

/** What is wrong with a documented command line. */
const faultsOf = (program: Command, line: string): string[] => {
  const [command, rest] = resolve(program, line)
  if (command === program) return [`slotline ${line}: no such command`]
  const flags = rest.filter(word => word.startsWith('--'))
  const known = new Set(command.options.map(({ long }) => long))
  return flags
    .filter(flag => !known.has(flag))
    .map(flag => `slotline ${line}: ${command.name()} has no ${flag}`)
}

t.test('every command of the documentation exists, with its options', async t => {
  const program = createProgram({})
  const lines = pages()
    .filter(page => page !== 'CHANGELOG.md')
    .flatMap(commandsOf)
  t.ok(lines.length > 20, `${lines.length} command lines are found`)
  t.strictSame(
    lines.flatMap(line => faultsOf(program, line)),
    [],
  )
})

t.test('the check finds a wrong command and a wrong option', async t => {
  const program = createProgram({})
  t.match(faultsOf(program, 'frobnicate'), ['slotline frobnicate: no such command'])
  t.match(faultsOf(program, 'access token reveal --to x'), [/reveal has no --to/])
  t.strictSame(faultsOf(program, 'backup --config a.toml --network b --to c'), [])
})
